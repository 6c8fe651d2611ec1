"""Which settings are better: labelled cases, run through the pipeline that an agent uses, and what they earn.

:func:`evaluate` runs cases under settings and returns a :class:`Report`, whose repr is a table. The figures are defined
in :mod:`memwb.evaluation.metrics`.
"""

from ._score import CaseResult
from .arms import Arm, at_random, everything
from .cases import Case, checked_cases
from .report import Report, Summary
from .run import evaluate

__all__ = [
    "Arm",
    "Case",
    "CaseResult",
    "Report",
    "Summary",
    "at_random",
    "checked_cases",
    "evaluate",
    "everything",
]
