"""How far a mean could be from the truth, since other cases might have been drawn; and whether a difference is luck.

Both draw cases one by one, as if they were independent; where many come from one conversation, the true interval is
wider and the true p-value larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ..errors import ConfigError
from ..memory.settings import at_least_one

__all__ = ["FLIPS", "LEVEL", "RESAMPLES", "Interval", "interval", "luck"]

RESAMPLES = 2_000
FLIPS = 10_000
LEVEL = 0.95
_CHUNK = 1_000_000  # numbers drawn at once: 8 MB


@dataclass(frozen=True)
class Interval:
    """A mean and the interval around it.

    Attributes:
        mean: The mean of the cases' values.
        low: The interval's lower end.
        high: Its upper end.
        cases: How many cases there are.
        level: The share of resampled means that lie in the interval.
        resamples: How often as many cases were drawn.
    """

    mean: float
    low: float
    high: float
    cases: int
    level: float = LEVEL
    resamples: int = RESAMPLES

    def __repr__(self) -> str:
        of = f"{self.cases:,} cases, {self.level:.0%} of {self.resamples:,} resamples"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}] ({of})"


def interval(
    values: Sequence[float], *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> Interval | None:
    """Return the mean of one value a case with its bootstrap interval; None without a value.

    As many values are drawn with replacement, ``resamples`` times; the interval holds the middle ``level`` of the
    means. The same values, seed and number of resamples give the same interval everywhere. It is the percentile
    interval of B. Efron, R. J. Tibshirani: "An Introduction to the Bootstrap", Chapman & Hall 1993, chapter 13; see T.
    Sakai: "Evaluating Evaluation Metrics based on the Bootstrap", SIGIR 2006, for its use on means over topics.

    Args:
        values: One for each case.
        level: Between 0 and 1.
        resamples: At least 1; the ends of the interval are known to about one in the square root of it.
        seed: Of the draws.

    Raises:
        ConfigError: ``level`` or ``resamples`` is not as said.
    """
    import numpy as np

    at_least_one(resamples, "interval: resamples", "resamples")
    if not 0 < level < 1:
        raise ConfigError(f"interval: level is {level!r}; it must lie between 0 and 1.", key="level", value=level)
    if not values:
        return None
    numbers = np.asarray(values, dtype=float)
    size = len(numbers)
    means = [numbers[(drawn * size).astype(int)].mean(axis=1) for drawn in _drawn(size, resamples, seed)]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(fmean(values), float(low), float(high), size, level, resamples)


def luck(differences: Sequence[float], *, flips: int = FLIPS, seed: int = 0) -> float:
    """Return the p-value of a paired randomisation test: how often luck alone gives as large a mean difference.

    If neither setting were better, each case's difference could as well have had the other sign. So the signs are drawn
    anew, ``flips`` times; the p-value is (1 + the means at least as far from 0) / (1 + flips), from both sides. See M.
    D. Smucker, J. Allan, B. Carterette: "A Comparison of Statistical Significance Tests for Information Retrieval
    Evaluation", CIKM 2007. Of many comparisons with one setting, some p-value is small by luck.

    Args:
        differences: One for each case.
        flips: At least 1; no p-value is below 1 / (1 + flips).
        seed: Of the draws.
    """
    import numpy as np

    at_least_one(flips, "luck: flips", "flips")
    numbers = np.asarray([each for each in differences if each], dtype=float)
    if not len(numbers):
        return 1.0
    observed = abs(numbers.sum()) - 1e-9  # sums of the same numbers in another order differ in their last digits
    as_far = sum(
        int((abs(np.where(drawn < 0.5, numbers, -numbers).sum(axis=1)) >= observed).sum())
        for drawn in _drawn(len(numbers), flips, seed)
    )
    return (1 + as_far) / (1 + flips)


def _drawn(size: int, rows: int, seed: int) -> Iterator[Any]:
    """Yield rows of numbers between 0 and 1, in arrays that fit into memory."""
    import numpy as np

    draws = np.random.RandomState(seed)  # of numpy's generators the one whose numbers never change
    at_once = max(1, _CHUNK // size)
    for done in range(0, rows, at_once):
        yield draws.random_sample((min(at_once, rows - done), size))
