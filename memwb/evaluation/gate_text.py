"""What a gate found, in words: bounded, readable in a terminal, and without memory text where that is masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import islice

from .._options import options
from .._redact import masked
from .._text import counted, cropped, quoted, shortened, visible
from ._score import CaseResult
from .gate import SHOWN, BlockChange, GateResult, Worse

__all__ = ["told"]

_NAMED = 20
_LINES = 14  # of a difference between two blocks


def told(result: GateResult) -> Iterator[str]:
    """Yield the lines."""
    if result.ok:
        yield (
            f"No case of {result.cases:,} is worse than in the baseline."
            if result.metric is None
            else (f"The mean {result.metric} is no worse than in the baseline, over {counted(result.cases, 'run')}.")
        )
    for setting, (before, now) in result.means.items():
        allowed = f", by more than the tolerance {result.tolerance:g}" if result.tolerance else ""
        yield f"Setting {setting!r}: the mean {result.metric} was {before:.3f} and is {now:.3f}{allowed}."
    if result.worse:
        many = counted(len(result.worse), "case is", "cases are")
        yield f"{many} worse than in the baseline:"
        for each in result.worse[:SHOWN]:
            yield from _told_case(each, result.metric)
        yield from _rest([(each.setting, each.now.case) for each in result.worse[SHOWN:]])
    if result.missing:
        many = counted(len(result.missing), "run", "runs")
        yield f"{many} of the baseline {'is' if len(result.missing) == 1 else 'are'} missing: {_named(result.missing)}."
    yield from _told_blocks(result.blocks)
    yield from (f"Changed: {each}." for each in result.changed)
    yield from _told_unknown(result)
    if result.edited:
        yield f"Edited since the baseline: {_listed([repr(each) for each in result.edited])}."
    if result.new:
        yield f"New, and in no baseline yet: {_named(result.new)}."
    if result.short:
        settings = len({setting for setting, _, _ in result.short})
        shares = [
            f"{case!r}{f' with {setting!r}' if settings > 1 else ''} {share:.0%}"
            for setting, case, share in result.short
        ]
        many = counted(len(result.short), "run")
        yield f"Not all that is expected arrives, as in the baseline, in {many}: {_listed(shares, 5)}."
    if not result.ok:
        yield "If this is meant, renew the baseline on purpose; in a case folder by `memwb update FOLDER`."


def _told_unknown(result: GateResult) -> Iterator[str]:
    for case, expected in list(result.unknown.items())[:SHOWN]:
        held = _listed([quoted(masked(each)) for each in expected], 5)
        yield f"Case {case!r} expects what no store holds: {held}."
    if (more := len(result.unknown) - SHOWN) > 0:
        yield f"and {counted(more, 'more case')} that expect what no store holds"


def _told_case(each: Worse, metric: str | None) -> Iterator[str]:
    yield f"- case {each.now.case!r}, setting {each.setting!r}"
    if each.lost:
        yield f"    lost:   {_listed([quoted(masked(one)) for one in each.lost], 5)}"
    yield f"    before: {_outcome(each.before, metric)}"
    yield f"    now:    {_outcome(each.now, metric)}"
    for sentence in each.why[:5]:
        yield f"    why:    {shortened(masked(sentence), 300)}"


def _outcome(result: CaseResult, metric: str | None) -> str:
    if result.error is not None:
        return f"failed: {_without_texts(shortened(result.error, 300))}"
    parts = [_without_texts(shortened(result.outcome, 200))]
    reached = result.figures.get("reached")
    if result.expected and reached is not None:
        parts.append(f"{reached * result.expected:.3g} of {result.expected} expected in the prompt")
    if result.first is not None:
        parts.append(f"the first at rank {result.first}")
    if metric not in (None, "reached"):
        value = result.figures.get(metric or "")
        parts.append(f"{metric} {'-' if value is None else format(value, '.3f')}")
    return "; ".join(parts)


def _without_texts(sentence: str) -> str:
    """Leave out what follows a colon where memory is masked: it may quote a query or an entry."""
    return sentence.partition(":")[0] if options().redact else sentence


def _told_blocks(blocks: Sequence[BlockChange]) -> Iterator[str]:
    if not blocks:
        return
    many = counted(len(blocks), "case gives", "cases give")
    yield f"{many} the model the same entries in another text: a format, or an entry's text, has changed."
    for each in blocks[:3]:
        yield f"- case {each.case!r}, setting {each.setting!r}"
        before, now = ((block.text or "").splitlines() for block in (each.before, each.now))
        lines = [*islice(unified_diff(before, now, "before", "now", lineterm="", n=1), 2, None)]
        yield from (f"    {cropped(visible(line[0] + masked(line[1:])), 160)}" for line in lines[:_LINES])
        if len(lines) > _LINES:
            yield f"    … {counted(len(lines) - _LINES, 'more line')}"
    yield from _rest([(each.setting, each.case) for each in blocks[3:]])


def _rest(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if pairs:
        yield f"- and {len(pairs):,} more: {_named(pairs)}"


def _named(pairs: Sequence[tuple[str, str]]) -> str:
    return _listed([f"{case!r} under {setting!r}" for setting, case in pairs])


def _listed(names: Sequence[str], most: int = _NAMED) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
