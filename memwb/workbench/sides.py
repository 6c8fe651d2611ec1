"""What arms give at the same model calls, and how each differs from the settings in force: data alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from .._redact import masked
from .._text import counted, quoted
from ..errors import ConfigError, nearest
from ..tokens import ESTIMATE, TokenCounter, sized

if TYPE_CHECKING:
    import pandas

__all__ = ["ComparedCall", "Comparison", "Difference", "Outcome", "Place", "difference", "unknown_arm"]


@dataclass(frozen=True)
class Place:
    """An entry in the block of one arm.

    Attributes:
        store: Its store's name.
        id: Its id where the store tells one.
        content: Its text.
        rank: Its place in the block, from 1.
        score: How well it matched by its store's own measure, None without one.
    """

    store: str | None
    id: str | None
    content: str
    rank: int
    score: float | None

    def __repr__(self) -> str:
        return f"Place({self.store!r} place {self.rank}: {quoted(masked(self.content))})"

    @property
    def key(self) -> tuple[str | None, str]:
        """What makes it the same entry in another arm."""
        return (self.store, self.id or self.content)


@dataclass(frozen=True)
class Outcome:
    """What one arm gives at one model call.

    Attributes:
        arm: The arm's name.
        entries: What is in the block, in its order.
        block: The block, "" where none is injected.
        input: The text of the message that takes the block, with the block in its place.
        tokens: The block's tokens.
        seconds: What the injection took; no part of a difference.
        summary: The outcome in words.
        counter: What counts the tokens.
        failed: What failed, in words, such as a store that raised; "" where nothing did.
    """

    arm: str
    entries: tuple[Place, ...]
    block: str
    input: str
    tokens: int
    seconds: float
    summary: str
    counter: TokenCounter = field(default=ESTIMATE, repr=False, compare=False)
    failed: str = ""

    def __repr__(self) -> str:
        entries = counted(len(self.entries), "entry", "entries")
        return f"Outcome({self.arm!r}: {entries}, {sized(self.counter, self.tokens)} tokens)"


@dataclass(frozen=True)
class Difference:
    """How an arm differs from the settings in force at one model call.

    Attributes:
        arm: The arm's name.
        added: Entries that it alone brings.
        dropped: Entries that it does not bring.
        moved: Entries of both at another place: as they are now, and in this arm.
        rescored: Entries of both with another score: as they are now, and in this arm.
        lines: The lines of the block that differ, as (``"-"`` or ``"+"``, line).
        input: Whether the model gets another text.
        tokens: How many tokens more; negative for fewer.
        failed: What failed in this arm alone, so that entries are missing for that; "" where nothing did.
    """

    arm: str
    added: tuple[Place, ...]
    dropped: tuple[Place, ...]
    moved: tuple[tuple[Place, Place], ...]
    rescored: tuple[tuple[Place, Place], ...]
    lines: tuple[tuple[str, str], ...]
    input: bool
    tokens: int
    failed: str = ""

    @property
    def empty(self) -> bool:
        """Whether the model gets the very same, found in the same way."""
        return not (
            self.added or self.dropped or self.moved or self.rescored or self.lines or self.input or self.failed
        )

    def __repr__(self) -> str:
        return f"Difference({self.arm!r}: {self.summary})"

    @property
    def summary(self) -> str:
        """The difference in words."""
        if self.empty:
            return "no difference"
        counts = [(len(getattr(self, kind)), kind) for kind in ("added", "dropped", "moved", "rescored")]
        said = [f"{count} {kind}" for count, kind in counts if count]
        if self.failed:
            return f"{', '.join([masked(self.failed), *said])}, {self.tokens:+,} tokens"
        return f"{', '.join(said or ['the same entries in another text'])}, {self.tokens:+,} tokens"


@dataclass(frozen=True)
class ComparedCall:
    """One model call under every arm.

    Attributes:
        name: ``"call 4"``, or the case's id.
        outcomes: One an arm, the settings in force first.
    """

    name: str
    outcomes: tuple[Outcome, ...]

    @property
    def differences(self) -> tuple[Difference, ...]:
        """How each further arm differs from the settings in force."""
        now, *others = self.outcomes
        return tuple(difference(now, other) for other in others)


@dataclass(frozen=True)
class Comparison:
    """What the arms of a workbench give at the same model calls.

    Attributes:
        arms: Their names, the settings in force first.
        calls: The model calls.
    """

    arms: tuple[str, ...]
    calls: tuple[ComparedCall, ...]

    @property
    def empty(self) -> bool:
        """Whether no arm differs from the settings in force at any call."""
        return all(each.empty for call in self.calls for each in call.differences)

    def differences(self, arm: str) -> tuple[Difference, ...]:
        """Return how an arm differs from the settings in force, one difference a call.

        Raises:
            ConfigError: There is no such arm beside the settings in force.
        """
        if arm not in self.arms[1:]:
            raise unknown_arm(arm, self.arms[1:])
        return tuple(call.differences[self.arms.index(arm) - 1] for call in self.calls)

    def totals(self, arm: str) -> dict[str, float]:
        """Return sums over the calls: ``injected`` (calls), ``entries``, ``tokens`` and ``seconds``.

        Raises:
            ConfigError: There is no such arm.
        """
        if arm not in self.arms:
            raise unknown_arm(arm, self.arms)
        outcomes = [call.outcomes[self.arms.index(arm)] for call in self.calls]
        return {
            "injected": sum(bool(each.block) for each in outcomes),
            "entries": sum(len(each.entries) for each in outcomes),
            "tokens": sum(each.tokens for each in outcomes),
            "seconds": sum(each.seconds for each in outcomes),
        }

    def to_frame(self) -> pandas.DataFrame:
        """Return a row a call and arm: figures, and what differs from the settings in force.

        Columns: call, arm, entries, tokens, seconds, added, dropped, moved, rescored, lines, same.
        """
        import pandas

        columns = "call arm entries tokens seconds added dropped moved rescored lines same".split()
        rows = []
        for call in self.calls:
            for each in call.outcomes:
                found = difference(call.outcomes[0], each)
                counts = [len(getattr(found, kind)) for kind in columns[5:10]]
                rows.append((call.name, each.arm, len(each.entries), each.tokens, each.seconds, *counts, found.empty))
        return pandas.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        said = []
        for arm in self.arms[1:]:
            found = self.differences(arm)
            changed = sum(not each.empty for each in found)
            if len(found) == 1:
                said.append(f"{arm!r}: {found[0].summary}")
            else:
                tokens, failed = sum(each.tokens for each in found), sum(bool(each.failed) for each in found)
                failing = f", {failed} failed" if failed else ""
                said.append(f"{arm!r}: {changed} of {counted(len(found), 'call')} differ{failing}, {tokens:+,} tokens")
        return f"Comparison(against the settings in force; {'; '.join(said) or 'no other arm'})"

    def _repr_html_(self) -> str:
        from .arms_html import comparison_tree

        return comparison_tree(self).to_html()


def difference(now: Outcome, other: Outcome) -> Difference:
    """Return how an outcome differs from the one of the settings in force."""
    before, after = _keyed(now.entries), _keyed(other.entries)
    both = [(before[key], after[key]) for key in after if key in before]
    return Difference(
        other.arm,
        added=tuple(place for key, place in after.items() if key not in before),
        dropped=tuple(place for key, place in before.items() if key not in after),
        moved=tuple(pair for pair in both if pair[0].rank != pair[1].rank),
        rescored=tuple(pair for pair in both if pair[0].score != pair[1].score),
        lines=tuple(_changed_lines(now.block.splitlines(), other.block.splitlines())),
        input=now.input != other.input,
        tokens=other.tokens - now.tokens,
        failed=other.failed if other.failed != now.failed else "",
    )


def _changed_lines(before: list[str], after: list[str]) -> Iterator[tuple[str, str]]:
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from (("-", line) for line in before[start:end])
            yield from (("+", line) for line in after[new_start:new_end])


def _keyed(entries: Sequence[Place]) -> dict[tuple[Any, int], Place]:
    """Number the entries that a store gives twice, so that each has one fellow in the other arm."""
    found: dict[tuple[Any, int], Place] = {}
    seen: dict[Any, int] = {}
    for entry in entries:
        seen[entry.key] = seen.get(entry.key, 0) + 1
        found[entry.key, seen[entry.key]] = entry
    return found


def unknown_arm(name: Any, allowed: tuple[str, ...]) -> ConfigError:
    """Return the error for an arm that is not there, with the nearest that is."""
    has = f"they are {', '.join(map(repr, allowed))}" if allowed else "none is pinned: `wb.pin(name)` keeps settings"
    return ConfigError(
        f"Workbench: there is no arm {name!r:.60}; {has}.{nearest(name, allowed)}",
        key="name",
        value=name,
        allowed=allowed,
    )
