"""The state of each screen, without a screen: plain Python that a script drives as a widget does."""

from __future__ import annotations

from ..callbacks.complete import Problem
from .preview import Preview
from .state import WorkbenchState

__all__ = ["Preview", "Problem", "WorkbenchState"]
