"""Thin views of the states in :mod:`memwb.workbench`, on ipywidgets."""

from __future__ import annotations

from .workbench import Workbench

__all__ = ["Workbench"]
