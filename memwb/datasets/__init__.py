"""Real memories with labelled conversations, shipped for demonstrations, teaching and scores.

``load("ikat-demo")`` gives a :class:`Dataset`: entries, cases and owners. Each data set lies in a folder beside its
licence and an account of where it comes from and what was changed (`Dataset.notice`).
"""

from ._cases import Case
from ._load import Dataset, load, names

__all__ = ["Case", "Dataset", "load", "names"]
