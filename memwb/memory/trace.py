"""What one injection did, stage by stage, as data: the object that every screen, score and export reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from .._redact import masked, masked_words
from .._text import estimate_tokens, quoted
from ..errors import ConfigError, nearest
from .messages import copied
from .search import StoreAnswer
from .types import RELEVANCE_SCORE, MemoryEntry, Message, has_method

if TYPE_CHECKING:
    import pandas

    from .settings import Injection

StageName = Literal["trigger", "query", "search", "format", "fold"]
StageStatus = Literal["done", "skipped", "failed", "not reached"]
STAGES: tuple[StageName, ...] = ("trigger", "query", "search", "format", "fold")
MAX_TOKENS_NAMED = 12
"""So many of the tokens that were looked for are named where nothing was found."""

_LOOKED_FOR = "; looked for "
_NUMBERS = (int, float)
_FEW_TOKENS = 40  # so many are found in a content one by one; with more, its words are looked up among them


@dataclass(frozen=True)
class Stage:
    """How one stage of the injection ended.

    Attributes:
        name: ``trigger``, ``query``, ``search``, ``format`` or ``fold``.
        status: ``done``, ``skipped`` (it ended the injection for a reason), ``failed`` (by an exception or a result
            of the wrong type) or ``not reached``.
        reason: What happened, in plain words, the same at every run; of an exception's text at most 300 characters.
        error: The exception of a failed stage, whole.
        seconds: How long it took.
    """

    name: StageName
    status: StageStatus = "not reached"
    reason: str = ""
    error: BaseException | None = None
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"{self.name} {self.status}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class Hit:
    """One entry that a store returned for the query.

    Attributes:
        store: The store's name.
        rank: Its place in that store's answer, from 1.
        score: How well it matched by the store's own measure (``metadata["_relevanceScore"]``), None without one.
            Scores of different stores do not compare.
        id: The record's id where the store tells it.
        entry: The entry as the format callback gets it.
        matched: The query's tokens that the content holds, in the query's order.
        kept: Whether it survived the cut.
        cut_by: None, ``"max_entries"``, or ``"store limit"`` (the store returned fewer than it was asked for).
    """

    store: str
    rank: int
    score: float | None
    id: str | None
    entry: MemoryEntry
    matched: tuple[str, ...] = ()
    kept: bool = False
    cut_by: Literal["max_entries", "store limit"] | None = None

    @property
    def content(self) -> str:
        """The entry's text."""
        return self.entry.content

    def __repr__(self) -> str:
        state = "kept" if self.kept else f"cut by {self.cut_by}"
        score = "" if self.score is None else f", score {self.score:g}"
        return f"Hit({self.store!r} rank {self.rank}{score}, {state}: {quoted(masked(self.content))})"


@dataclass(frozen=True)
class Note:
    """Something about an injection that its result alone does not show.

    Attributes:
        kind: ``stop words``, ``duplicate``, ``starved``, ``store failed``, ``store slow``, ``forbidden characters``,
            ``large block``, ``placement`` or, in a replay, ``newer entries``.
        text: One sentence.
        hits: The hits that it is about.
    """

    kind: str
    text: str
    hits: tuple[Hit, ...] = ()

    def __repr__(self) -> str:
        return f"Note({self.kind}: {masked_words(self.text, (hit.content for hit in self.hits))})"


class InjectionTrace:
    """What one run of the injection did; made by ``MemoryManager.trace_injection``.

    Attributes:
        stages: The five stages in their order.
        query: The text that was searched, or None.
        entries: The entries after the cut, in the block's order.
        text: The block as the format gave it, or None. What reaches the model is in ``messages``.
        messages: The conversation that the model gets, folded where something was injected.
        settings: The checked settings, or None where injection is off.
    """

    def __init__(
        self,
        *,
        stages: Sequence[Stage],
        messages: Sequence[Message],
        settings: Injection | None,
        query: str | None = None,
        answers: Sequence[StoreAnswer] = (),
        entries: Sequence[MemoryEntry] = (),
        text: str | None = None,
        host_placement: str | None = None,
    ) -> None:
        self.stages = tuple(stages)
        self.messages = list(messages)
        self.settings, self.query, self.text = settings, query, text
        self.entries = list(entries)
        self.answers = tuple(answers)
        self._host_placement = host_placement

    def __copy__(self) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy what the trace tells; the stores and callbacks that it was made with are no part of that and stay."""
        new = self.__copy__()
        new.messages, new.entries = copied(self.messages), deepcopy(self.entries, memo)
        return new

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            "An InjectionTrace cannot be pickled: it holds the stores and callbacks that it was made with. Keep what "
            "it tells: trace.to_frame(), trace.messages, trace.text, or repr(trace)."
        )

    @property
    def fired(self) -> bool:
        """Whether the trigger let the injection begin."""
        return self.stages[0].status == "done"

    @property
    def injected(self) -> bool:
        """Whether a block reached the messages."""
        return self.stages[-1].status == "done"

    @cached_property
    def _ended(self) -> Stage | None:
        if self.injected:
            return None
        return next((stage for stage in self.stages if stage.status in ("skipped", "failed")), None)

    @property
    def skipped_at(self) -> StageName | None:
        """The stage that ended the injection, skipped or failed; None when the block was folded in."""
        return self._ended.name if self._ended else None

    @property
    def reason(self) -> str:
        """Why nothing was injected, in plain words; empty when something was."""
        return self._ended.reason if self._ended else ""

    @property
    def error(self) -> BaseException | None:
        """The exception that ended the injection, if one did."""
        return self._ended.error if self._ended else None

    @property
    def seconds(self) -> float:
        """How long all stages took together."""
        return sum([stage.seconds for stage in self.stages])

    @property
    def tokens(self) -> int:
        """An estimate of the block's tokens: characters / 4, rounded up; 0 when nothing was injected."""
        return estimate_tokens(self.text or "") if self.injected else 0

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """Every entry that the stores returned, in store order and each store's own ranking."""
        kept = chain(repeat(True, len(self.entries)), repeat(False))
        query = self.query or ""
        return tuple([hit for answer in self.answers for hit in hits_of(answer, query, kept)])

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What surprises in this injection; empty when nothing does."""
        from .notes import notes_of

        return notes_of(self, self._host_placement)

    def add_note(self, note: Note) -> None:
        """Add what only the one knows who asked for the injection."""
        self.notes = (*self.notes, note)

    def stage(self, name: str) -> Stage:
        """Return one stage by name.

        Raises:
            ConfigError: There is no such stage.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise ConfigError(
            f"There is no stage {name!r}; the stages are {', '.join(STAGES)}.{nearest(name, STAGES)}",
            key="stage",
            value=name,
            allowed=STAGES,
        )

    def to_frame(self) -> pandas.DataFrame:
        """Return the hits as a DataFrame: store, rank, score, id, content, matched, kept, cut_by."""
        from ..frames import hits_frame

        return hits_frame(self.hits)

    @property
    def secrets(self) -> Iterator[str]:
        """The texts that a sentence about this injection may quote: the query, and what the stores answered."""
        yield self.query or ""
        for answer in self.answers:
            yield from (entry.content for entry in answer.entries)

    @property
    def summary(self) -> str:
        """The outcome in one short line."""
        ended = self._ended
        if ended is None:
            count = len(self.entries)
            return f"{count} {'entry' if count == 1 else 'entries'} injected, ~{self.tokens:,} tokens"
        if ended.name == "search" and ended.status == "skipped":
            return f"nothing found: {ended.reason.partition(_LOOKED_FOR)[0]}"
        return f"{ended.status} at {ended.name}: {ended.reason}"

    def __repr__(self) -> str:
        return f"InjectionTrace({masked_words(self.summary, self.secrets)})"

    def _repr_html_(self) -> str:
        from ._html import trace_html

        return trace_html(self)


def hits_of(
    answer: StoreAnswer, query: str, kept: Iterable[bool], below: range = range(0), first: int = 1
) -> list[Hit]:
    """Describe what a store answered to a query.

    Args:
        answer: The store and its entries.
        query: What it was asked.
        kept: For each entry whether it survived the cut.
        below: Ranks of entries that the injection never saw, since the store gave it fewer than it was asked for.
        first: The rank of the first entry.
    """
    name, matched = answer.store.name, matching_by(answer.store, query)
    new = Hit.__new__
    hits = []
    for rank, (entry, is_kept) in enumerate(zip(answer.entries, kept, strict=False), first):
        score = entry.metadata.get(RELEVANCE_SCORE) if isinstance(entry.metadata, dict) else None
        hit = new(Hit)
        fields = hit.__dict__  # a preview makes hundreds, and setting frozen fields takes three times as long
        fields["store"] = name
        fields["rank"] = rank
        fields["score"] = score if isinstance(score, _NUMBERS) and score is not True and score is not False else None
        fields["id"] = entry.id
        fields["entry"] = entry
        fields["matched"] = matched(entry.content)
        fields["kept"] = is_kept
        fields["cut_by"] = None if is_kept else "store limit" if rank in below else "max_entries"
        hits.append(hit)
    return hits


def matching_by(store: Any, query: str) -> Callable[[str], tuple[str, ...]]:
    """Return what gives the query's tokens that a content holds, in the query's order, by the store's own tokenizer."""
    from ..ranking import held, tokenize

    tokenizer, tokens = tokenizer_of(store), tokens_of(store, query)
    if tokenizer is tokenize and len(tokens) <= _FEW_TOKENS:
        return lambda content: tuple(held(tokens, content))
    places = {token: place for place, token in enumerate(tokens)}
    return lambda content: tuple(sorted(places.keys() & tokenizer(content), key=places.__getitem__))


def tokens_of(store: Any, query: str) -> tuple[str, ...]:
    """Return the tokens that a store looks for, each once, in the query's order."""
    from ..ranking import query_tokens, tokenize

    tokenizer = tokenizer_of(store)
    return query_tokens(query) if tokenizer is tokenize else in_order(set(tokenizer(query)), query)


def tokenizer_of(store: Any) -> Any:
    """Return the store's tokenizer, or the documented one for a store that has none."""
    from ..ranking import tokenize

    tokenizer = getattr(store, "tokenizer", None)
    return tokenizer if callable(tokenizer) else tokenize


def in_order(tokens: Iterable[str], query: str) -> tuple[str, ...]:
    """Return tokens in the order in which the query holds them."""
    from ..ranking import query_tokens

    tokens = set(tokens)
    plain = [word for word in query_tokens(query) if word in tokens]
    if len(plain) == len(tokens):  # as with the documented tokenizer
        return tuple(plain)
    words: dict[str, int] = {}
    for word in re.finditer(r"\w+", query):
        words.setdefault(word.group().lower(), word.start())
    places = {token: words[token] if token in words else _position(query, token) for token in tokens}
    return tuple(sorted(places, key=lambda token: (places[token], token)))


def _position(text: str, token: str) -> int:
    """Return where a token that is no single word begins: on its own, else where at all, else the end."""
    quoted_token = re.escape(token)
    pattern = rf"(?<!\w){quoted_token}(?!\w)|(?P<inside>{quoted_token})"
    places = [(found["inside"] is not None, found.start()) for found in re.finditer(pattern, text, re.IGNORECASE)]
    return min(places, default=(True, len(text)))[1]


async def nothing_found(stores: Sequence[Any], query: str) -> str:
    """Say why a search over ``stores`` came back empty, as far as that can be known without searching again."""
    if not stores:
        return "no store was searched"
    lexical = all(callable(getattr(store, "tokenizer", None)) for store in stores)
    tokens = in_order({token for store in stores for token in tokens_of(store, query)}, query) if lexical else ()
    if lexical and not tokens:
        from ..ranking import query_tokens

        words = query_tokens(query)
        left_out = f" to look for: the tokenizer leaves out {_listed(words)}" if words else ""
        return f"the query {quoted(query)} holds no word{left_out}"
    if await _all_empty(stores):
        return "the store holds no entry" if len(stores) == 1 else "the stores hold no entry"
    if lexical:
        return f"no entry shares a word with {quoted(query)}{_LOOKED_FOR}{_listed(tokens)}"
    return f"no store returned an entry for {quoted(query)}"


def _listed(tokens: Sequence[str]) -> str:
    shown = ", ".join(tokens[:MAX_TOKENS_NAMED])
    return shown if len(tokens) <= MAX_TOKENS_NAMED else f"{shown} and {len(tokens) - MAX_TOKENS_NAMED} more"


async def _all_empty(stores: Sequence[Any]) -> bool:
    """Whether every store says that it holds nothing; one that cannot tell may hold something."""
    for store in stores:
        if not (has_method(store, "count") and has_method(store, "page")):
            return False
        try:
            if await store.count() != 0:
                return False
        except Exception:  # its search did not fail, so this is no failure to report
            return False
    return True
