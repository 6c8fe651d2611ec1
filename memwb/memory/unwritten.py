"""Why no store holds an entry: who would have written it, and how far that has come."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._text import cropped
from .messages import text

if TYPE_CHECKING:
    from .extraction.batches import ExtractionStatus
    from .extraction.happenings import Buffered, Failed
    from .extraction.log import ExtractionLog
    from .types import Message


class Unwritten(NamedTuple):
    """Why an entry was not written.

    Attributes:
        reason: In words, to stand within a sentence.
        advice: What to do.
    """

    reason: str
    advice: str


FLUSH = "`await manager.flush()` saves it now."
TURN_ON = "Write it, `await manager.add(...)`, or let the agent: add_tool_config=True, or a store with extraction=True."


def why_unwritten(manager: Any, content: str, messages: Sequence[Message]) -> Unwritten | None:
    """Return why the manager's stores lack an entry, None where it cannot be told.

    Args:
        manager: A MemoryManager, or what tells it by a ``why_unwritten`` of its own; of anything else nothing is known.
        content: The entry's text, or a part of it: a message says it that holds it or all of its telling words.
        messages: The conversation before the model call, for a manager that extracts from no agent yet.
    """
    if not content.strip():
        return None
    if hasattr(manager, "why_unwritten"):  # what writes there is of another make, and tells it itself
        told: Unwritten | None = manager.why_unwritten(content, messages)
        return told
    if not hasattr(manager, "extraction_status"):
        return None
    says = Says(content)
    extracts, adds = manager.extraction, _has_add_tool(manager)
    statuses = manager.extraction_status()
    if extracts:
        found = next(_on_its_way(says, manager.extraction_log, statuses, extracts), None)
        if found is not None:
            return found
    said = next((at for at, message in enumerate(messages) if says(text(message))), None)
    begins = "" if said is None else f"message {said + 1} says it, but "
    if not extracts and not adds:
        return Unwritten(f"{begins}nothing writes here: the add tool is off and no store extracts", TURN_ON)
    if extracts and not statuses and not manager.extraction_log:
        names = ", ".join(map(repr, extracts))
        return Unwritten(
            f"{begins}{names} would extract it, and no agent is attached", "`await manager.init_agent(agent)` first."
        )
    return None


class Says:
    """Tells whether a text says what is looked for: it holds all of it, or all of its telling words."""

    def __init__(self, content: str) -> None:
        from ..ranking import STOP_WORDS, tokenize

        self._content = " ".join(content.casefold().split())
        self._words = tokenize(content) - STOP_WORDS

    def __call__(self, said: str) -> bool:
        """Whether a text says it."""
        if self._content in " ".join(said.casefold().split()):
            return True
        return bool(self._words) and self._words <= set(re.findall(r"\w+", said.lower()))


def _has_add_tool(manager: Any) -> bool:
    return any("entries" in getattr(tool, "input_schema", {}).get("properties", ()) for tool in manager.tools)


def _on_its_way(
    says: Says, log: ExtractionLog, statuses: Sequence[ExtractionStatus], extracts: dict[str, Any]
) -> Iterator[Unwritten]:
    """Yield where the entry is between a message and its store, the furthest first."""
    from .extraction.happenings import Buffered

    yield from _facts(says, log, statuses)
    for event in log.of(Buffered):
        if says(text(event.message)):
            for store, settings in extracts.items():
                of_store = [status for status in statuses if (status.agent, status.store) == (event.agent, store)]
                yield _left_out(event, store, log) or (
                    _message(event.number, of_store[0], log, settings)
                    if of_store
                    else _not_made(event.number, store)  # the agent is gone, so it owes nothing any more
                )


def _facts(says: Says, log: ExtractionLog, statuses: Sequence[ExtractionStatus]) -> Iterator[Unwritten]:
    """What became of facts that an extractor found."""
    from .extraction.happenings import Failed, Proposed, Reviewed

    for status in statuses:
        if any(map(says, status.unwritten)):
            why = _last_error(log.of(Failed, status.store))
            yield Unwritten(
                f"it was extracted, and its write to {status.store!r} failed{why}",
                "`await manager.retry_unwritten()` tries again.",
            )
    for event in log.of(Proposed):
        if any(says(fact.content) for fact in event.facts):
            same = [each for each in log.of(Reviewed, event.store) if each.numbers == event.numbers]
            if same and not any(says(fact.content) for each in same for fact in each.facts):
                yield Unwritten(
                    f"it was extracted for {event.store!r}, and the review left it out", "The review decides on it."
                )
            elif any(set(status.saving) & set(event.numbers) for status in statuses):
                yield Unwritten(
                    f"it was extracted for {event.store!r}, and waits for its review", "Accept it in the review."
                )


def _left_out(event: Buffered, store: str, log: ExtractionLog) -> Unwritten | None:
    """Return why no fact could be found in a message: what the log tells of it."""
    from .extraction.happenings import Filtered

    begins = f"message {event.number + 1} says it"
    dropped = [each for each in log.of(Filtered, store) if (each.number, each.agent) == (event.number, event.agent)]
    if any(each.whole for each in dropped):
        kinds = ", ".join(dict.fromkeys(kind for each in dropped for kind in each.kinds))
        return Unwritten(f"{begins}, and the filter of {store!r} drops it ({kinds})", "Its extraction filter decides.")
    if any(
        (each.agent, each.store) == (event.agent, store) and event.number in each.numbers for each in log.unreadable
    ):
        return Unwritten(
            f"{begins}, and what the model answered about it could not be read",
            "`await manager.retry_unreadable()` asks again.",
        )
    return None


def _message(number: int, status: ExtractionStatus, log: ExtractionLog, settings: Any) -> Unwritten:
    """Return how far a message has come that says it."""
    from .extraction.happenings import Failed

    begins, store = f"message {number + 1} says it", status.store
    if number in status.saving:
        return Unwritten(f"{begins}, and it is being saved to {store!r}", "`await manager.wait_for_saves()` waits.")
    if number in status.pending and status.failures:
        return Unwritten(f"{begins}, and saving it to {store!r} failed{_last_error(log.of(Failed, store))}", FLUSH)
    if number in status.pending:
        return Unwritten(f"{begins}, and is not saved to {store!r} yet: {_progress(status, settings.triggers)}", FLUSH)
    return _not_made(number, store)


def _not_made(number: int, store: str) -> Unwritten:
    return Unwritten(
        f"message {number + 1} says it, and extraction for {store!r} made no such entry of it",
        "`wb.extraction()` shows what the model was asked, and tries another prompt.",
    )


def _last_error(failed: Sequence[Failed]) -> str:
    """Name the last failure; of several writes that failed together, the first of them."""
    if not failed:
        return ""
    error = failed[-1].error
    return f": {cropped(repr(next(iter(getattr(error, 'errors', ())), error)), 80)}"


def _progress(status: ExtractionStatus, triggers: Iterable[Any]) -> str:
    every = [trigger.turns for trigger in triggers if isinstance(getattr(trigger, "turns", None), int)]
    if not every:
        return "not flushed"
    turns = min(every)
    return f"extraction at {status.turns % turns} of {turns} invocations"
