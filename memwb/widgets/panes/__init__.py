"""The panes of the workbench as trees: pure functions of its state, tested without a browser."""

from __future__ import annotations

from .conversation import conversation
from .entries import Opened, listed
from .forms import form
from .hits import hits
from .lower import TABS, lower
from .mistakes import mistakes
from .settings import settings
from .top import top

__all__ = ["TABS", "Opened", "conversation", "form", "hits", "listed", "lower", "mistakes", "settings", "top"]
