"""Memories as pandas DataFrames, and back again without loss: records, entries of sessions, hits.

See :mod:`memwb.frames.records` for what the columns are.
"""

from __future__ import annotations

from .entries import entries_frame, entries_from_frame, sessions_frame
from .records import Cell, frame, hits_frame, records_frame, records_from_frame

__all__ = [
    "Cell",
    "entries_frame",
    "entries_from_frame",
    "frame",
    "hits_frame",
    "records_frame",
    "records_from_frame",
    "sessions_frame",
]
