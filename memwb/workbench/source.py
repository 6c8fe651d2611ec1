"""What a workbench can be opened on: agents, managers, stores, files, frames, texts, or the demo."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalog import is_session_store
from ..errors import ConfigError
from ..memory import Hit, MemoryManager, Message
from ..memory.messages import copied
from ..memory.types import RELEVANCE_SCORE
from ..sessions import Memory
from .paths import open_path

if TYPE_CHECKING:
    from ..bridge.strands import Measure
    from .snapshot_reading import Kept

DEMO = ("ikat-demo", "2024-test/11/t4")
"""The data set and the case that a workbench without a source opens on."""

_POSTGRES = ("postgresql://", "postgres://")


@dataclass
class Source:
    """An opened source.

    Attributes:
        stores: The stores to search, in order.
        injection: The injection setting that the source has.
        messages: Its conversation, empty where it has none.
        expected: Ids of entries that should arrive, where the source knows them.
        placement: Where the source's SDK puts the block, None outside of one.
        listings: For a store that cannot list itself: a read-only store over the same entries, by name.
        measures: How a store tells that an entry matched, by name, where it does so in a way of its own.
        notes: Sentences that the reader should know.
        agent: The live agent, None without one; a trigger predicate may look at it.
        state: A copy of its state, which a trigger predicate sees as well.
        manager: The memwb manager that was opened, or that the agent has; None for any other source.
        writer: Tells why an entry was not written, where an SDK's own manager writes; None for any other source.
        tools: The memory tools that the source's agent has, where they are not those of ``manager``; None without one.
        sessions: The store of sessions that was opened, or the Memory over it; None for any other source.
        demo: Whether it is the demo.
        kept: What else a snapshot holds, where one was opened.
    """

    stores: list[Any]
    injection: Any = True
    messages: list[Message] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    placement: Any = None
    listings: dict[str, Any] = field(default_factory=dict)
    measures: dict[str, Measure] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    agent: Any = None
    state: Any = None
    manager: MemoryManager | None = None
    writer: Any = None
    tools: tuple[Any, ...] | None = None
    sessions: Any = None
    demo: bool = False
    kept: Kept | None = None

    def measured(self, hit: Hit) -> str:
        """Say how well a hit matched where its store tells so in a way of its own: ``"distance 0.12"``; else ``""``."""
        measure = self.measures.get(hit.store)
        value = measure.of(hit.entry) if measure is not None else None
        return "" if measure is None or value is None else f"{measure.meaning} {value:g}"


def open_source(source: Any = None) -> Source:
    """Read a source; nothing in it is changed, and no file is read yet.

    Args:
        source: A Strands Agent, a Strands or memwb MemoryManager, a store, a list of stores, the path of a
            TestMemoryStore file or of a database of memories, a store of sessions or the path of its folder or
            database, the folder of a snapshot, the ``postgresql://`` address of a database with memories in its table
            ``memories``, a DataFrame with a column ``content``, a list of texts, or None for the demo.

    Raises:
        ConfigError: It is none of these.
    """
    if source is None:
        return _demo()
    if isinstance(source, MemoryManager):
        opened = _stores(list(source.stores))
        opened.injection, opened.manager = source.injection or False, source
        return opened
    if isinstance(source, str) and source.startswith(_POSTGRES):
        from ..stores import PostgresMemoryStore

        return Source([PostgresMemoryStore(source)])
    if isinstance(source, str | os.PathLike):
        return _path_source(Path(source))
    if is_session_store(source) or isinstance(source, Memory):
        return _sessions_source(source)
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return Source([_frame_store(source)])
    if isinstance(source, Sequence):
        return _sequence(source)
    return _foreign(source)


def _demo() -> Source:
    from .. import datasets

    name, case_id = DEMO
    data = datasets.load(name)
    case = data.case(case_id)
    return Source(
        [data.store(case.owner)], messages=copied(list(case.messages)), expected=tuple(case.expected), demo=True
    )


def _path_source(path: Path) -> Source:
    from .snapshot_reading import is_snapshot, open_snapshot

    if is_snapshot(path.expanduser()):
        return open_snapshot(path.expanduser())
    store = open_path(path)
    return _sessions_source(store, path.stem) if is_session_store(store) else Source([store])


def _sessions_source(store: Any, name: str = "sessions") -> Source:
    """Return a store of sessions, or a Memory, as what was said in it: searched like any other store."""
    from ..stores import SessionSearch

    held = store.store if isinstance(store, Memory) else store
    return Source([SessionSearch(held, name=name or "sessions")], sessions=store)


def _frame_store(frame: Any) -> Any:
    from ..frames import records_from_frame
    from ..stores import TestMemoryStore

    if "content" not in frame.columns:
        columns = ", ".join(map(str, frame.columns))
        raise ConfigError(f"Workbench: a DataFrame needs a column 'content'; this one has {columns}.", key="source")
    return TestMemoryStore.from_records(records_from_frame(frame), name="frame")


def _looks_like_a_file(text: str) -> bool:
    return not re.search(r"\s", text) and Path(text).suffix in (".json", ".jsonl", ".db", ".sqlite", ".sqlite3")


def _sequence(items: Sequence[Any]) -> Source:
    from ..catalog import Record
    from ..stores import TestMemoryStore

    if all(isinstance(item, str) for item in items):
        if items and all(_looks_like_a_file(item) for item in items):
            name = Path(items[0]).stem
            raise ConfigError(
                f"Workbench: the list holds {items[0]!r:.60}, which looks like a file; a list holds texts or stores. "
                f"Give the stores, such as [TestMemoryStore(name={name!r:.40}, path={items[0]!r:.60}), ...].",
                key="source",
                value=items[0],
            )
        texts = list(dict.fromkeys(items))  # a store holds a text once
        records = [Record(id=f"text-{at}", content=content, created_at=None) for at, content in enumerate(texts, 1)]
        return Source([TestMemoryStore.from_records(records, name="texts")])
    texts_meant = isinstance(items[0], str) and not any(hasattr(item, "search") for item in items)
    for at, item in enumerate(items):
        if isinstance(item, str) != texts_meant or not (texts_meant or hasattr(item, "search")):
            raise ConfigError(
                f"Workbench: item {at} of the list is {type(item).__name__} {item!r:.60}; "
                "a list holds either texts or stores.",
                key="source",
                value=item,
            )
    return _stores(list(items))


def _stores(stores: list[Any]) -> Source:
    from ..bridge import strands

    listings = {}
    measures = {}
    notes = []
    for store in stores:
        if hasattr(store, "page"):
            continue
        listing = strands.listing(store) if strands.is_strands(store) else None
        if listing is not None:
            listings[store.name] = listing
        else:
            notes.append(
                f"store {getattr(store, 'name', store)!r} cannot list its entries: it is seen through its search"
            )
        measure = strands.measure(store)
        if measure is not None and measure.key != RELEVANCE_SCORE:
            measures[store.name] = measure
            notes.append(
                f"store {store.name!r} tells under {measure.key!r}, a {measure.meaning}, "
                f"{strands.MEANINGS[measure.meaning]}"
            )
    return Source(stores, listings=listings, measures=measures, notes=tuple(notes))


def _foreign(source: Any) -> Source:
    from ..bridge import strands

    if hasattr(source, "search") and hasattr(source, "name") and not hasattr(source, "flush"):
        return _stores([source])
    if strands.is_strands(source):
        reading = strands.read(source)
        opened = _stores(list(reading.stores))
        opened.injection, opened.messages = reading.injection, list(reading.messages)
        opened.placement, opened.notes = reading.placement, (*opened.notes, *reading.notes)
        opened.agent, opened.state = reading.agent, reading.state
        opened.manager = reading.plugin.manager if reading.plugin else None
        opened.writer = None if opened.manager else strands.SdkWriter(strands.manager_of(source))
        opened.tools = strands.memory_tools(source)
        return opened
    raise ConfigError(
        f"Workbench: cannot open {type(source).__name__} {source!r:.80}. Give an agent, a memory manager, a store or a "
        "list of stores, the path of a store's file or of a database or folder of sessions, a DataFrame with a column "
        "'content', or a list of texts.",
        key="source",
        value=source,
    )


def read_messages(messages: Any) -> list[Message]:
    """Read a conversation.

    Args:
        messages: Messages in any form that :func:`memwb.conversations.read` takes, one text (the user's), texts that
            take turns, the last one the user's, or the Path of a file or folder for :func:`memwb.conversations.load`.

    Raises:
        ConfigError: It is none of these, or a message cannot be read; it is named by its place.
    """
    from .. import conversations

    if isinstance(messages, str):
        return conversations.read([messages])
    if isinstance(messages, os.PathLike):
        return conversations.load(messages)
    if not isinstance(messages, Sequence):
        raise ConfigError(
            f"Workbench: messages must be a text, a list of texts or a list of message dicts, not {messages!r:.80}.",
            key="messages",
            value=messages,
        )
    return conversations.read(messages)
