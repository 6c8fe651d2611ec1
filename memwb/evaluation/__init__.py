"""Which settings are better: labelled cases, run through the pipeline that an agent uses, and what they earn.

:func:`evaluate` runs cases under settings and returns a :class:`Report`, whose repr is a table. The figures are defined
in :mod:`memwb.evaluation.metrics`. :func:`save_folder` keeps stores, cases, settings and a baseline in a folder, and
``Report.assert_no_worse`` holds a report to an earlier one.
"""

from ._masks import WordMask
from ._score import CaseResult
from .arms import Arm, at_random, everything
from .bootstrap import Interval
from .cases import Case, checked_cases, load_cases, save_cases
from .compare import Comparison
from .folder import CaseFolder, load_folder, save_folder
from .gate import GateResult
from .report import Report, Summary
from .run import evaluate
from .settings_file import load_settings
from .sweep import grid, named

__all__ = [
    "Arm",
    "Case",
    "CaseFolder",
    "CaseResult",
    "Comparison",
    "GateResult",
    "Interval",
    "Report",
    "Summary",
    "WordMask",
    "at_random",
    "checked_cases",
    "evaluate",
    "everything",
    "grid",
    "load_cases",
    "load_folder",
    "load_settings",
    "named",
    "save_cases",
    "save_folder",
]
