"""Why an entry arrived at a question's model call or not: with what only a workbench knows beside the memory itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from .._text import quoted
from ..callbacks.complete import IncompleteError
from ..errors import ConfigError
from ..memory import Explanation, InjectionTrace, Message, Suggestion
from ..memory.explain import Change, decided, matching, with_suggestions
from ..memory.injection import Call
from ..memory.messages import copied
from ..memory.search import is_the_stores_own
from ..memory.shown import filters_of
from ..memory.suggestions import WORDS_COUNTED, WORDS_TRIED
from ..memory.wanted import Wanted
from ..ranking import STOP_WORDS
from ..stores import TestMemoryStore
from ..testing._as_of import times_told
from .code import build
from .copies import edited_copy
from .gallery import FILTERS
from .limit import TIME_LIMIT
from .silence import missing_file, never_written, without_files

if TYPE_CHECKING:
    from .preview import Question
    from .state import WorkbenchState


_COPIED = 2_000
"""Of a store with more entries no copy is made to try another text of an entry on."""


async def decide(question: Question, target: Any, trace: InjectionTrace, trial: Call) -> Explanation:
    """Say whether an entry arrived, and why; nothing is tried yet, except what a custom format makes of it.

    Args:
        question: What was asked.
        target: An entry, its id or a text.
        trace: The injection.
        trial: Runs callbacks of what is only tried out.
    """
    found = await decided(
        question.stores,
        target,
        question.messages,
        question.settings,
        trace=trace,
        apart=question.apart,
        writer=question.writer,
        **_given(question, trial),
    )
    return await _dated(_emptied(found, question), question)


async def complete(question: Question, found: Explanation, trace: InjectionTrace, trial: Call) -> Explanation:
    """Add the changes that bring the entry in, each tried, and the other entries that hold the text asked for."""
    return await with_suggestions(
        found,
        question.stores,
        question.messages,
        question.settings,
        trace=trace,
        apart=question.apart,
        listed=[question.listings.get(store.name, store) for store in question.stores.stores],
        more=await _more(question) if found.stage == "format" else (),
        edits=partial(_edits, question, found),
        **_given(question, trial),
    )


def _given(question: Question, trial: Call) -> dict[str, Any]:
    return {"call": trial, "agent": question.agent, "state": question.state}


def _emptied(found: Explanation, question: Question) -> Explanation:
    """Name the files that are missing, or what else is known of stores that hold nothing at all."""
    if found.stage != "store":
        return found
    plain = "nothing was ever written to " + ", ".join(repr(store.name) for store in question.stores.stores)
    listed = [question.listings.get(store.name, store) for store in question.stores.stores]
    if plain in found.sentence:
        return replace(found, sentence=found.sentence.replace(plain, never_written(listed)))
    told = without_files(listed)
    empty = "; nothing was ever written to " + ", ".join(repr(store.name) for store in listed if missing_file(store))
    sentence = found.sentence.removesuffix(".").removesuffix(empty if told else "")
    return replace(found, sentence=f"{sentence}; {told}.") if told else found


async def _dated(found: Explanation, question: Question) -> Explanation:
    """Say so where the entry was written after the model call, so that the call could not have it."""
    if question.at is None or found.store is None or found.id is None:
        return found
    written = await _written_at(found, question)
    if written is None or written <= question.at:
        return found
    said = f"{found.sentence} It was written after this call, on {written:%Y-%m-%d at %H:%M:%S} UTC."
    return replace(found, sentence=said, newer=True)


async def _written_at(found: Explanation, question: Question) -> datetime | None:
    store = next(store for store in (*question.stores.stores, *question.apart) if store.name == found.store)
    listing = question.listings.get(store.name, store)
    if not hasattr(listing, "get"):
        return None
    try:
        record = await listing.get(found.id)
    except BaseException as error:  # a store that fails is named by the trace
        if not is_the_stores_own(error):
            raise
        return None
    written = getattr(record, "created_at", None)
    return written if isinstance(written, datetime) and written.tzinfo is not None else None


def said_at(messages: Sequence[Message]) -> datetime | None:
    """Return when the last of these messages was said; None where they tell no times."""
    times = times_told(messages)
    return times[-1] if times else None


@dataclass(frozen=True)
class Written:
    """A callback with the text that it was made from.

    Attributes:
        function: The callback.
        source: The text, with what the callback needs.
    """

    function: Callable[[Any], Any]
    source: str

    def __call__(self, context: Any) -> Any:
        """Do what the function does."""
        return self.function(context)

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "format"))

    @property
    def __globals__(self) -> dict[str, Any]:  # the names that its text may use when it is edited
        return getattr(self.function, "__globals__", {})


async def _more(question: Question) -> list[Change]:
    """Return the format as its editor has it, without each of the filters that are written in it."""
    slot = question.format
    if slot is None or slot.ahead or slot.function is None or filters_of(slot.function):
        return []
    changes = []
    for name, source in without_filters(slot.source, tuple(one.__name__ for one in FILTERS["format"])).items():
        with suppress(IncompleteError):
            function = await build("format", source, dict(getattr(slot.function, "__globals__", {})), TIME_LIMIT)
            changes.append(Change(f"without the filter {name}", {"format": Written(function, source)}))
    return changes


async def _edits(question: Question, found: Explanation) -> list[Change]:
    """Return the entry with words of the query that it lacks, rare ones first, each on a copy of its store."""
    stores = question.stores.stores
    holder = next((store for store in stores if store.name == found.store), None)
    if type(holder) is not TestMemoryStore or found.id is None or found.stage != "search" or holder.fixed:
        return []
    words = [word for word in found.missing if word not in STOP_WORDS][:WORDS_COUNTED]
    if not words or await holder.count() > _COPIED:
        return []
    near = [asked for asked, _ in found.near]
    held = {word: (word not in near, await matching(holder, word) or 0) for word in words}
    rare = sorted(held, key=held.__getitem__)[:WORDS_TRIED]
    changes = []
    for added in dict.fromkeys([*((word,) for word in rare), tuple(rare)]):
        content = f"{found.target} ({', '.join(added)})"
        copy = await edited_copy(holder, found.id, content)
        changes.append(
            Change(
                f"add {quoted(', '.join(added), 40)} to the entry's text",
                {"edit": {"store": holder.name, "id": found.id, "content": content}},
                tuple(copy if store is holder else store for store in stores),
                Wanted(content, found.id, holder.name),
            )
        )
    return changes


def without_filters(source: str, filters: Sequence[str]) -> dict[str, str]:
    """Return a format's text without each of the filters that are written in it, by the filter's name."""
    lines = source.splitlines(keepends=True)
    texts = {}
    for name in filters:
        left = [line for line in lines if not (line[:1].isspace() and f"entries = {name}(" in line)]
        if len(left) < len(lines):
            texts[name] = "".join(left)
    return texts


def take(state: WorkbenchState, suggestion: Suggestion) -> None:
    """Put a suggestion in force without waiting for the refresh; see ``WorkbenchState.take``."""
    if not isinstance(suggestion, Suggestion):
        raise ConfigError(
            f"Workbench: apply takes a suggestion of an explanation, such as (await wb.why(...)).suggestions[0], not "
            f"{suggestion!r:.80}.",
            key="suggestion",
            value=suggestion,
        )
    change = dict(suggestion.settings)
    if (messages := change.pop("messages", None)) is not None:
        now = state.moment()
        state.conversation.remember()
        state.return_to(replace(now, messages=[*copied(messages), *state.messages[len(state.seen) :]]))
    if (edit := change.pop("edit", None)) is not None:
        state.entries.stage(edit={edit["id"]: edit["content"]}, store=edit["store"])
    if change:
        state.put(**change)
