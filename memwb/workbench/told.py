"""How a failure is told to a person."""

from __future__ import annotations

from .._text import said
from ..errors import MemwbError


def told(error: BaseException) -> str:
    """Return what an exception says: memwb's own are sentences, of others the class says half of it."""
    if isinstance(error, MemwbError):
        return said(error)
    return f"{type(error).__name__}: {said(error)}" if said(error) else type(error).__name__
