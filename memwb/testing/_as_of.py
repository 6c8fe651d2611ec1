"""What a store held at an earlier time, and what an injection shows that was not there then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .. import _time
from .._text import counted
from ..errors import ConfigError
from ..memory import MemoryManager, Note
from ..stores import Listable

if TYPE_CHECKING:
    from ..memory import Call, InjectionTrace, MemoryEntry, Message, SearchOptions
    from ._replay import ReplayAgent

Time = datetime | str | None
AsOf = str | Callable[["Message"], Time] | Sequence[Time]
"""When messages were said: a key, a function of a message, or a time for each message."""

_KEYS = ("created_at", "createdAt", "timestamp")
"""Where a message tells its time, as far as that is looked for unasked."""


def times_of(messages: Sequence[Message], as_of: AsOf) -> list[datetime]:
    """Return when each message was said.

    Raises:
        ConfigError: A time cannot be read, the first message has none, or there are more or fewer than messages.
    """
    if isinstance(as_of, str):
        given = [_under(message, as_of) for message in messages]
    elif callable(as_of):
        given = [as_of(message) for message in messages]
    else:
        if not isinstance(as_of, Sequence):
            raise ConfigError(
                f"ReplayAgent: as_of must be a key, a function of a message, or a list of times, not {as_of!r:.80}.",
                key="as_of",
                value=as_of,
            )
        given = list(as_of)
        if len(given) != len(messages):
            counts = f"{counted(len(messages), 'message')} need as many times, not {len(given)}"
            counts += "; system messages at the start are left out"
            raise ConfigError(f"ReplayAgent: as_of: {counts}.", key="as_of", value=as_of)
    times: list[datetime] = []
    for at, value in enumerate(given):
        if value is None and times:
            times.append(times[-1])
            continue
        try:
            times.append(_read(value))
        except (TypeError, ValueError) as error:
            where = f" under {as_of!r}" if isinstance(as_of, str) else ""
            raise ConfigError(
                f"ReplayAgent: as_of: message {at} has no time{where}: {value!r}. A time is an aware datetime or its "
                "text, such as '2026-01-31T12:00:00Z'; None stands for the time of the message before.",
                key="as_of",
                value=value,
            ) from error
    return times


def times_told(messages: Sequence[Message]) -> list[datetime] | None:
    """Return when each message was said as far as the messages tell; None where they do not."""
    for key in _KEYS:
        try:
            return times_of(messages, key) if messages else None
        except ConfigError:
            continue
    return None


def _under(message: Message, key: str) -> Any:
    found = message.get(key)
    metadata = message.get("metadata")
    return metadata.get(key) if found is None and isinstance(metadata, dict) else found


def _read(value: Any) -> datetime:
    if isinstance(value, str):
        return _time.parse_stamp(value)
    if not isinstance(value, datetime):
        raise TypeError(f"{value!r} is no time")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Hindsight:
    """Runs a manager's injection at each turn of an old conversation, on stores that have been written to since.

    What was written between the turn and the start of the replay was not there at the turn. What was written after the
    start is the replay's own.

    Args:
        manager: Whose injection it is.
        times: When each message was said; None where nobody knows.
        leave_out: Whether newer entries are left out; else a note tells of them.
        call: Runs the manager's callbacks.
    """

    def __init__(
        self, manager: MemoryManager, times: list[datetime] | None, *, leave_out: bool, call: Call | None
    ) -> None:
        self._manager, self._times, self._leave_out, self._call = manager, times, leave_out, call
        self._newest: dict[str, datetime] | None = None  # of each store at the start

    async def trace(self, agent: ReplayAgent) -> InjectionTrace:
        """Return the injection of the call that comes after the agent's messages."""
        if self._times is None:
            return await self._trace(self._manager, agent)
        if self._newest is None:
            self._newest = {store.name: time for store in self._manager.stores if (time := await _newest(store))}
        turn = self._times[agent.position - 1]
        if not self._leave_out:
            trace = await self._trace(self._manager, agent)
            await self._tell(trace, turn)
            return trace
        stores: list[Any] = [EarlierStore(store, turn, self._newest.get(store.name)) for store in self._manager.stores]
        manager = MemoryManager(stores, search_tool_config=False, injection=self._manager.injection or False)
        trace = await self._trace(manager, agent)
        for store in stores:
            store.tell(trace)
        return trace

    async def _trace(self, manager: MemoryManager, agent: ReplayAgent) -> InjectionTrace:
        return await manager.trace_injection(agent.messages, state=agent.state, agent=agent, call=self._call)

    async def _tell(self, trace: InjectionTrace, turn: datetime) -> None:
        assert self._newest is not None
        stores = {store.name: EarlierStore(store, turn, self._newest.get(store.name)) for store in self._manager.stores}
        newer = [hit for hit in trace.hits if hit.kept and await stores[hit.store].is_newer(hit.entry)]
        if newer:
            many = f"{len(newer)} of {counted(len(trace.entries), 'entry', 'entries')}"
            trace.add_note(
                Note(
                    "newer entries",
                    f"{many} came after this turn ({_time.stamp(turn)}); as_of leaves them out",
                    tuple(newer),
                )
            )


async def _newest(store: Any) -> datetime | None:
    """Return the time of the store's last entry, None where it tells none."""
    if not isinstance(store, Listable):
        return None
    records = await store.page(0, 1, sort="-created_at")
    return records[0].created_at if records else None


class EarlierStore:
    """A store as it was at an earlier time: it finds only what was there then. It cannot be written to.

    Args:
        store: The store as it is today.
        until: What was written later than this is not found, unless it is later than ``newest`` too.
        newest: The store's last time when the replay began; None where it tells no times, so that all is found.
    """

    writable = False
    extraction = None

    def __init__(self, store: Any, until: datetime, newest: datetime | None) -> None:
        self.store, self.until, self.newest = store, until, newest
        self.left_out: dict[str | None, MemoryEntry] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return what the store found at that time; it is asked for more until enough of it is old enough."""
        limit = (options or {}).get("max_search_results") or 10
        asked = limit
        while True:
            found = await self.store.search(query, {"max_search_results": asked})
            kept = []
            for entry in found:
                if await self.is_newer(entry):
                    self.left_out[entry.id] = entry
                else:
                    kept.append(entry)
            if len(kept) >= limit or len(found) < asked:
                return kept[:limit]
            asked *= 2

    async def is_newer(self, entry: MemoryEntry) -> bool:
        """Whether the entry was written between the time and the start of the replay."""
        if self.newest is None or entry.id is None:
            return False
        record = await self.store.get(entry.id)
        time = record.created_at if record is not None else None
        return time is not None and self.until < time <= self.newest

    def tell(self, trace: InjectionTrace) -> None:
        """Note on a trace what was left out, or that nothing could be."""
        turn = _time.stamp(self.until)
        if self.left_out:
            what = counted(len(self.left_out), "matching entry", "matching entries")
            were = "was" if len(self.left_out) == 1 else "were"
            trace.add_note(Note("newer entries", f"{what} of {self.name!r} {were} left out, written after {turn}"))
        elif self.newest is None and not isinstance(self.store, Listable):
            trace.add_note(
                Note("newer entries", f"store {self.name!r} tells no times, so none of its entries is left out")
            )
