"""What can go wrong in memwb: one class for each thing that a caller would do differently.

Every error says what happened, with which value, what is allowed and what to do next, and keeps these
as attributes, so that a screen or a test never has to parse the sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "AggregateMemoryError",
    "BrokenStoreError",
    "ConfigError",
    "DamagedFileError",
    "DuplicateEntryError",
    "EmbedderError",
    "EntryNotFoundError",
    "GateError",
    "MemwbError",
    "NoAnswerError",
    "StaleTraceError",
    "StoreBusyError",
    "StoreNotFoundError",
    "StoreUnavailableError",
    "StoresFailedError",
    "SummaryError",
]


def nearest(word: object, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the known word closest to ``word``, or ``""`` when none is close."""
    import difflib  # this and other modules that only an error needs are loaded by it

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(str(word).casefold().replace("_", ""), _squashed(folded), n=1, cutoff=0.6)
    return f" Did you mean {_squashed(folded)[close[0]]!r}?" if close else ""


def _squashed(folded: dict[str, str]) -> dict[str, str]:
    """Compare without underscores, so that ``user_turn`` finds ``userTurn``."""
    return {name.replace("_", ""): original for name, original in folded.items()}


class MemwbError(Exception):
    """The parent of every error that memwb raises on purpose. It passes between processes with its data."""

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is rebuilt from its message alone; these take more than that to be made.
        return _rebuilt, (type(self), self.args), dict(self.__dict__)


def _rebuilt(kind: type[MemwbError], args: tuple[Any, ...]) -> MemwbError:
    error = kind.__new__(kind, *args)
    error.args = args  # an OSError takes them in its __init__ alone
    return error


class ConfigError(MemwbError, ValueError):
    """A setting has a name or a value that memwb cannot take.

    Attributes:
        key: The setting, or None where the fault is not one key's.
        value: What was given.
        allowed: The names or values that are taken, where they can be listed.
    """

    def __init__(self, message: str, *, key: str | None = None, value: object = None, allowed: Collection[str] = ()):
        self.key, self.value, self.allowed = key, value, tuple(allowed)
        super().__init__(message)


class StoreNotFoundError(MemwbError, ValueError):
    """A call named a store that the manager does not hold.

    Attributes:
        name: The name asked for.
        known: The names of the stores there are.
    """

    def __init__(self, name: str, known: Collection[str], *, prefix: str = "MemoryManager: ") -> None:
        self.name, self.known = name, tuple(known)
        held = ", ".join(map(repr, self.known)) or "none"
        super().__init__(f"{prefix}store {name!r} not found; the stores are {held}.{nearest(name, self.known)}")


class EntryNotFoundError(MemwbError, KeyError):
    """A call named an entry that the store does not hold.

    Attributes:
        id: The id asked for.
        where: The store that was asked.
    """

    def __init__(self, id: str, where: str, advice: str = "List the entries to see the ids there are.") -> None:
        self.id, self.where = id, where
        super().__init__(f"No entry {id!r} in {where}. {advice}")

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the sentence in quotes


class DuplicateEntryError(MemwbError, ValueError):
    """An entry was to be written under an id, or with a content, that another entry has.

    Attributes:
        id: The id that is taken, or that of the entry which already holds the content.
        where: The store that was asked.
    """

    def __init__(self, id: str, where: str, what: str = "id", *, advice: str = "") -> None:
        self.id, self.where = id, where
        if what == "id":
            held, usual = f"an entry with the id {id!r}", "leave the id out or pick another"
        else:
            held, usual = f"this {what}, in the entry {id!r}", "change that entry instead"
        super().__init__(f"{where} already holds {held}. Nothing was written: {advice or usual}.")


class ConflictError(MemwbError):
    """Entries are not as they were seen when a change to them was prepared. Nothing was written.

    Attributes:
        where: The store.
        conflicts: The id of each entry that differs, and how, in words.
    """

    def __init__(self, where: str, conflicts: Sequence[tuple[str, str]]) -> None:
        self.where, self.conflicts = where, tuple(conflicts)
        told = "; ".join(f"entry {id!r:.80} {how}" for id, how in self.conflicts[:3])
        more = f"; and {len(self.conflicts) - 3} more" if len(self.conflicts) > 3 else ""
        super().__init__(
            f"{where} was changed by someone else meanwhile: {told}{more}. Nothing was written: look at what is there "
            "now, and change that."
        )


class DamagedFileError(MemwbError, ValueError):
    """A file cannot be read as what it should be. It is left as it is.

    Attributes:
        path: The file.
        place: Where in it the damage was met, in words ("line 3, column 7", "record 2").
        cause: What is wrong there, in words.
    """

    def __init__(self, path: Path | str, place: str, cause: str, *, prefix: str = "", advice: str = "") -> None:
        from pathlib import Path

        self.path, self.place, self.cause = Path(path), place, cause
        at = f" at {place}" if place else ""
        super().__init__(f"{prefix}{path}{at}: {cause}. The file was not changed.{' ' + advice if advice else ''}")


class StoreBusyError(MemwbError, TimeoutError):
    """Another program held a file for so long that a store gave up. Nothing was changed; the call can be made again.

    Attributes:
        path: The file.
        seconds: How long the store has waited.
    """

    def __init__(self, path: Path | str, seconds: float, where: str) -> None:
        from pathlib import Path

        self.path, self.seconds = Path(path), seconds
        super().__init__(
            f"{where}: {path} was locked by another program for {seconds:g} seconds. Nothing was changed: end what "
            "holds a transaction open there, or try again."
        )


class StoreUnavailableError(MemwbError, ConnectionError):
    """The server behind a store cannot be reached, or left in the midst of a call. The call can be made again.

    Attributes:
        where: The store and its server.
        cause: What the server, or the way to it, answered.
    """

    def __init__(self, where: str, cause: str) -> None:
        self.where, self.cause = where, cause
        super().__init__(
            f"{where} cannot be reached: {cause.rstrip('.')}. See that the server runs and that host, port, user and "
            "database are right, then make the call again: the store connects anew by itself."
        )


class EmbedderError(MemwbError, RuntimeError):
    """A model gave no vectors. What was to be embedded is still there, and can be tried again.

    Attributes:
        where: The endpoint or the model.
        status: The HTTP status of its last answer, None where it gave none.
    """

    def __init__(self, where: str, cause: str, *, status: int | None = None, advice: str = "") -> None:
        self.where, self.status = where, status
        super().__init__(f"{where} gave no vectors: {cause}.{' ' * bool(advice)}{advice}")


class GateError(MemwbError, AssertionError):
    """An evaluation is worse than its baseline, or no longer comparable with it.

    Attributes:
        result: What was compared, and what it came to: a :class:`memwb.evaluation.gate.GateResult`.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        self.result = result
        super().__init__(message)


class StaleTraceError(MemwbError, RuntimeError):
    """A result was asked for while newer settings still wait for their refresh: ``await`` the workbench first."""


class AggregateMemoryError(MemwbError):
    """Several writes were made at once and at least one of them failed; the others stand.

    Attributes:
        errors: The causes, in the order of the writes.
        stores: The names of the stores that failed, where the writes went to stores.
    """

    def __init__(self, message: str, errors: Sequence[BaseException] = (), stores: Sequence[str] = ()) -> None:
        self.errors, self.stores = list(errors), tuple(stores)
        super().__init__(message)


class BrokenStoreError(MemwbError, TypeError):
    """A store does not answer a search as a store must, so that its answer cannot be read at all.

    This is no outage: Strands leaves out a store whose search fails while it is awaited, but a store like this one
    ends its whole search.

    Attributes:
        store: The store's name.
        fault: What it did, in words.
    """

    def __init__(self, store: str, fault: str) -> None:
        self.store, self.fault = store, fault
        super().__init__(
            f"store {store!r} {fault}; a store needs 'async def search(self, query, options)' that returns a list of "
            "entries with a text as content"
        )


class StoresFailedError(MemwbError):
    """A search found nothing, and at least one of the stores asked had failed.

    Attributes:
        errors: The exception of each store that failed, by store name.
    """

    def __init__(self, errors: Mapping[str, BaseException]) -> None:
        self.errors = dict(errors)
        super().__init__("; ".join(f"store {name!r} raised {error!r}" for name, error in self.errors.items()))


class NoAnswerError(MemwbError, LookupError):
    """A model of :mod:`memwb.testing` was asked something that its script has no answer to.

    Attributes:
        asked: What it was asked: system prompt and messages.
    """

    def __init__(self, message: str, asked: tuple[str, list[dict[str, Any]]]) -> None:
        self.asked = asked
        super().__init__(message)


class SummaryError(MemwbError):
    """A summary of a session could not be made, written or taken back. The session is as it was.

    Attributes:
        reason: Why, in words.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"No summary: {reason}")
