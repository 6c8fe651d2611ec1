"""Errors: what they say, what they keep, and what a caller may catch them as."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb import errors
from memwb.errors import (
    AggregateMemoryError,
    BrokenStoreError,
    ConfigError,
    DamagedFileError,
    DuplicateEntryError,
    EmbedderError,
    EntryNotFoundError,
    GateError,
    MemwbError,
    NoAnswerError,
    StaleTraceError,
    StoreBusyError,
    StoreNotFoundError,
    StoresFailedError,
    StoreUnavailableError,
    SummaryError,
    nearest,
)

EVERY: list[tuple[MemwbError, type[Exception], str]] = [
    (
        ConfigError("max_entries is 0; it must be at least 1.", key="max_entries", value=0, allowed=("1",)),
        ValueError,
        "max_entries is 0; it must be at least 1.",
    ),
    (
        StoreNotFoundError("hom", ["home", "work"]),
        ValueError,
        "MemoryManager: store 'hom' not found; the stores are 'home', 'work'. Did you mean 'home'?",
    ),
    (
        EntryNotFoundError("r1", "store 'home'"),
        KeyError,
        "No entry 'r1' in store 'home'. List the entries to see the ids there are.",
    ),
    (
        DuplicateEntryError("r1", "Store 'home'"),
        ValueError,
        "Store 'home' already holds an entry with the id 'r1'. Nothing was written: leave the id out or pick another.",
    ),
    (
        DuplicateEntryError("r1", "Store 'home'", "content"),
        ValueError,
        "Store 'home' already holds this content, in the entry 'r1'. Nothing was written: change that entry instead.",
    ),
    (
        DamagedFileError("/tmp/m.json", "line 3", "no JSON", prefix="TestMemoryStore: ", advice="Salvage it."),
        ValueError,
        "TestMemoryStore: /tmp/m.json at line 3: no JSON. The file was not changed. Salvage it.",
    ),
    (
        DamagedFileError(Path("/tmp/m.json"), "", "no JSON"),
        ValueError,
        "/tmp/m.json: no JSON. The file was not changed.",
    ),
    (
        EmbedderError("http://localhost/v1/embeddings", "it answered 401", status=401, advice="Give its api_key."),
        RuntimeError,
        "http://localhost/v1/embeddings gave no vectors: it answered 401. Give its api_key.",
    ),
    (
        GateError("1 case is worse than in the baseline", {"ok": False}),
        AssertionError,
        "1 case is worse than in the baseline",
    ),
    (StaleTraceError("settings changed; `await wb` first"), RuntimeError, "settings changed; `await wb` first"),
    (NoAnswerError("ScriptedModel: no answer", ("system", [])), LookupError, "ScriptedModel: no answer"),
    (
        StoreBusyError("/tmp/s.db", 5.0, "SQLiteStore"),
        TimeoutError,
        "SQLiteStore: /tmp/s.db was locked by another program for 5 seconds. Nothing was changed: end what holds a "
        "transaction open there, or try again.",
    ),
    (
        StoreUnavailableError("PostgresMemoryStore (db/team)", "connection refused."),
        ConnectionError,
        "PostgresMemoryStore (db/team) cannot be reached: connection refused. See that the server runs "
        "and that host, port, user and database are right, then make the call again: the store connects anew by "
        "itself.",
    ),
    (SummaryError("there is no model."), Exception, "No summary: there is no model."),
    (AggregateMemoryError("2 failed", [OSError("full")], ["home"]), Exception, "2 failed"),
    (
        BrokenStoreError("odd", "returned None"),
        TypeError,
        "store 'odd' returned None; a store needs 'async def search(self, query, options)' that returns a list of "
        "entries with a text as content",
    ),
    (
        StoresFailedError({"a": OSError("full"), "b": KeyError("k")}),
        Exception,
        "store 'a' raised OSError('full'); store 'b' raised KeyError('k')",
    ),
]
IDS = [type(error).__name__ for error, _, _ in EVERY]


@pytest.mark.parametrize(("error", "parent", "message"), EVERY, ids=IDS)
def test_each_says_what_happened_and_is_what_callers_catch(error: Any, parent: Any, message: str) -> None:
    assert str(error) == message
    assert isinstance(error, parent)
    assert isinstance(error, MemwbError)


@pytest.mark.parametrize(("error", "parent", "message"), EVERY, ids=IDS)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_each_survives_copying_and_pickling_with_its_data(error: Any, parent: Any, message: str, again: Any) -> None:
    other = again(error)
    assert (type(other), str(other)) == (type(error), message)
    assert repr(vars(other)) == repr(vars(error))


def test_the_data_is_kept() -> None:
    config = ConfigError("no", key="max_entries", value=0, allowed=["1", "2"])
    assert (config.key, config.value, config.allowed) == ("max_entries", 0, ("1", "2"))
    assert vars(StoreNotFoundError("hom", ["home"])) == {"name": "hom", "known": ("home",)}
    assert vars(EntryNotFoundError("r1", "store")) == {"id": "r1", "where": "store"}
    damaged = DamagedFileError("/tmp/m.json", "line 3", "no JSON")
    assert (damaged.path, damaged.place, damaged.cause) == (Path("/tmp/m.json"), "line 3", "no JSON")
    cause = OSError("full")
    busy = StoreBusyError("/tmp/s.db", 5.0, "SQLiteStore")
    assert vars(busy) == {"path": Path("/tmp/s.db"), "seconds": 5.0}
    assert vars(StoreUnavailableError("db", "cut")) == {"where": "db", "cause": "cut"}
    assert vars(SummaryError("x")) == {"reason": "x"}
    assert vars(NoAnswerError("x", ("system", []))) == {"asked": ("system", [])}
    assert vars(AggregateMemoryError("x", (cause,), ["home"])) == {"errors": [cause], "stores": ("home",)}


def test_a_manager_without_stores_to_name_says_none() -> None:
    assert str(StoreNotFoundError("x", [], prefix="")) == "store 'x' not found; the stores are none."


def test_every_error_is_public() -> None:
    assert {type(error).__name__ for error, _, _ in EVERY} | {"MemwbError"} == set(errors.__all__)


KEYS = ("max_entries", "trigger", "query", "format", "placement")


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("max_entry", KEYS, " Did you mean 'max_entries'?"),
        ("MAX_ENTRIES", KEYS, " Did you mean 'max_entries'?"),
        ("maxEntries", KEYS, " Did you mean 'max_entries'?"),
        ("querry", KEYS, " Did you mean 'query'?"),
        ("user_turn", ("userTurn", "everyTurn"), " Did you mean 'userTurn'?"),
        ("colour", KEYS, ""),
        ("", KEYS, ""),
        ("x", (), ""),
    ],
)
def test_the_nearest_name_is_offered_where_one_is_near(word: str, known: Any, hint: str) -> None:
    assert nearest(word, known) == hint


@given(st.text(), st.lists(st.text()))
def test_nearest_takes_any_word_and_names_a_known_one(word: str, known: list[str]) -> None:
    hint = nearest(word, known)
    assert hint == "" or hint in [f" Did you mean {name!r}?" for name in known]
