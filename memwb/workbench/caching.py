"""What a prompt cache can keep: how much of a model call's input begins as that of the call before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..memory import InjectionTrace, Message
from ..memory.messages import fold
from ..tokens import ESTIMATE, TokenCounter, sized

if TYPE_CHECKING:
    import pandas

    from .state import WorkbenchState

PLACEMENTS = ("prepend", "append")


@dataclass(frozen=True)
class CacheView:
    """How many leading tokens of a model call's input equal those of the call before, for both placements.

    Providers bill such a prefix at a fraction of the price, and answer sooner. The block of an earlier call is no part
    of the history, so at the message that had it the inputs part: before its words where the block was prepended,
    behind them where it was appended. Neither the system prompt nor the tools are counted, which stand in front.

    Attributes:
        call: The model call, from 1; 0 where the conversation has none.
        placement: The placement in force, None where injection is off.
        tokens: Tokens of the whole input at each placement.
        kept: Leading tokens that equal the previous call's input, at each placement; 0 at the first call.
        counter: What counts the tokens.
    """

    call: int
    placement: str | None
    tokens: dict[str, int] = field(hash=False)
    kept: dict[str, int] = field(hash=False)
    counter: TokenCounter = field(default=ESTIMATE, compare=False)

    @property
    def sentence(self) -> str:
        """The figures in words, the placement in force first."""
        if self.call <= 1:
            return "The first call: there is no earlier input that a prompt cache could keep."
        first, other = sorted(PLACEMENTS, key=lambda each: each != self.placement)
        kept = [f"{sized(self.counter, self.kept[each])}" for each in (first, other)]
        total = sized(self.counter, self.tokens[first])
        if self.placement is None:
            return f"A prompt cache keeps {kept[0]} of {total} tokens."
        said = f"A prompt cache keeps {kept[0]} of {total} tokens with {first}"
        return f"{said}, {kept[1]} with {other}." if kept[0] != kept[1] else f"{said}, the same with {other}."

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each placement: placement, kept, tokens."""
        import pandas as pd

        rows = [(each, self.kept[each], self.tokens[each]) for each in PLACEMENTS]
        return pd.DataFrame(rows, columns=["placement", "kept", "tokens"])

    def __repr__(self) -> str:
        return f"CacheView({f'call {self.call}: ' if self.call else ''}{self.sentence})"


class Caching:
    """The cache's view of the open call; read at each refresh while the page shows it.

    Attributes:
        wanted: Whether the page shows it.
        view: What was found at the last refresh, None where it was not wanted.
    """

    def __init__(self, bench: WorkbenchState) -> None:
        self._bench = bench
        self.wanted = False
        self.view: CacheView | None = None

    async def read(self, trace: InjectionTrace) -> CacheView:
        """Return the view of the open call, whose injection gave ``trace``; the call before is run for it."""
        bench = self._bench
        before = None
        if bench.call > 1:
            question = bench.question(bench.call - 1)
            before = (question.messages, await question.trace(bench.call_limited))
        inputs = {each: serialised(bench.live.as_sent(placed(bench.seen, trace, each))) for each in PLACEMENTS}
        kept = dict.fromkeys(PLACEMENTS, 0)
        counter = bench.token_counter
        if before is not None:
            for each in PLACEMENTS:
                earlier = serialised(bench.live.as_sent(placed(*before, each)))
                kept[each] = equal_tokens(earlier, inputs[each], counter)
        settings = bench.settings
        tokens = {each: counter.count(text) for each, text in inputs.items()}
        self.view = CacheView(bench.call, settings.placement if settings else None, tokens, kept, counter)
        return self.view


def placed(messages: Sequence[Message], trace: InjectionTrace, placement: str) -> Sequence[Message]:
    """Return the messages with the trace's block at a placement; as they are where nothing is injected."""
    folded = fold(messages, trace.text, placement) if trace.injected and trace.text else None
    return messages if folded is None else folded


def serialised(messages: Sequence[Message]) -> str:
    """Return messages as one text in which an equal beginning is an equal prefix: role, then each block."""
    return "".join(
        part
        for message in messages
        for part in (f"\n{message['role']}:", *(f"\n{_block(block)}" for block in message["content"]))
    )


def equal_tokens(one: str, other: str, counter: TokenCounter) -> int:
    """Return how many tokens two texts have in common at their beginning.

    Exact where the counter has a method ``encode``, else the tokens of the text that they share.
    """
    encode = getattr(counter, "encode", None)
    if encode is None:
        return counter.count(common(one, other))
    tokens, others = encode(one), encode(other)
    pairs = enumerate(zip(tokens, others, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(tokens), len(others)))


def common(one: str, other: str) -> str:
    """Return what both texts begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return one[:low]


def _block(block: dict[str, Any]) -> str:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    return json.dumps(block, ensure_ascii=False, sort_keys=True, default=repr)
