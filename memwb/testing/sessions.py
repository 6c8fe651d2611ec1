"""What every store of sessions must do, as a test class to inherit from.

A store's tests subclass it and supply its fixture; the tests are async, so pytest-asyncio (in auto mode) or another
runner of async tests is needed::

    class TestMyStore(SessionStoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            return MyStore(tmp_path)
"""
# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

import asyncio
import copy
import threading
from dataclasses import replace
from typing import Any

import pytest

from .. import _time
from ..errors import DuplicateEntryError, EntryNotFoundError
from ..sessions import MemoryEntry, SessionInfo, SupportsReplace, SupportsSessions
from ._determinism import frozen

__all__ = ["SessionStoreContract", "session_entry"]

ODD_IDS = [
    "../x", "..\\x", "/abs", "a/b", "a_b", "a..b", "..", ".", "a:b", "a", "A", "CON", "con", "nul.txt", "x" * 300,
    "x" * 299 + "y", "東京" * 60, "a\x00b", "dot.", "space ", " space", "%61", "%", "~", "*?", "tab\t", "line\nend",
    "é", "e\u0301", "\u202egnp", ".hidden", ".memwb.lock", "naïve ✓ 東京", "-",
    "'\"; DROP TABLE session_entries", "a\u2028b",
]  # fmt: skip
"""Ids of which no two may be taken for each other, and none for a place in the file system."""

ODD_TEXTS = {
    "empty": "",
    "blank": "  \n",
    "markup": "before </entry></memory> & <b> after",
    "line ends": "one\ntwo\r\nthree\u2028four\u2029five\u0085six\x0b\x0cseven\x1c",
    "control characters": "a\x00b\x08c\x1bd\x7fe\ufffe",
    "other scripts": "naïve ✓ 東京 🍣 שלום e\u0301",
    "long": "tea " * 50_000,
}

KEPT_DATA: dict[str, Any] = {
    "nothing": None,
    "empty": {},
    "integers": {"n": [2**53 + 1, 2**64 + 1, -(2**70)]},
    "floats": {"n": [0.1 + 0.2, 1.0, -0.0, 1e-7, 1e22]},
    "empty key": {"": ""},
    "null": {"k": None},
    "nested": {"x": {"y": [{"z": [1, {"w": "\u2028"}]}]}},
    "two forms of one letter": {"\u00e9": 1, "e\u0301": 2},
    "nul": {"a\x00b": "c\x00d"},
    "a tool call": {"role": "assistant", "content": "", "tool_calls": [{"id": "t1", "function": {"name": "f"}}]},
}


def session_entry(memory_id: str, session_id: str = "s1", user_id: str = "default", **fields: Any) -> MemoryEntry:
    """Return an entry whose times are 1, if not said otherwise."""
    times = {"created_at": 1.0, "updated_at": 1.0}
    return MemoryEntry(session_id, memory_id, user_id, **{"content": f"text of {memory_id}", **times, **fields})


class SessionStoreContract:
    """The contract of a store of sessions: ``memwb.sessions.MemoryStore``.

    Subclasses supply the fixture ``store``: a new, empty store. Tests of abilities that it lacks are skipped.
    """

    async def test_an_entry_comes_back_as_it_was_with_all_its_fields(self, store: Any) -> None:
        entry = MemoryEntry("s1", "m1", "alice", "assistant", "Hello.", {"tool_calls": [{"id": 1}]}, 1.5, 2.5)
        await store.add(entry)
        assert await store.get_entries("s1", "alice") == [entry]
        assert await store.get_entry("m1") == entry
        assert MemoryEntry.from_dict((await store.get_entry("m1")).to_dict()) == entry

    async def test_an_entry_of_a_text_alone_is_of_the_default_user_and_of_now(self, store: Any) -> None:
        with frozen("2026-05-01T00:00:00Z"):
            await store.add(MemoryEntry(session_id="s1", content="I prefer Python."))
        (entry,) = await store.get_entries("s1")
        assert (entry.user_id, entry.role, entry.memory_id, entry.message_data) == ("default", "user", "id-1", None)
        assert entry.created_at == entry.updated_at == _time.parse_stamp("2026-05-01T00:00:00Z").timestamp()

    async def test_entries_come_by_time_and_of_equal_times_in_the_order_of_adding(self, store: Any) -> None:
        times = {"m5": 2.0, "m3": 1.0, "m9": 2.0, "m1": 3.0, "m2": 1.0, "m0": 2.0}
        for id, time in times.items():
            await store.add(session_entry(id, created_at=time))
        assert await self.ids(store) == ["m3", "m2", "m5", "m9", "m0", "m1"]
        await store.update(session_entry("m5", content="changed"))
        assert await self.ids(store) == ["m3", "m2", "m5", "m9", "m0", "m1"]

    async def test_b49_entries_of_one_time_stay_in_the_order_of_adding_also_when_reopened(self, store: Any) -> None:
        ids = [f"m{number * 7 % 30}" for number in range(30)]
        for id in ids:
            await store.add(session_entry(id, created_at=5.0))
        assert await self.ids(store) == ids
        await store.update(session_entry(ids[3], content="changed"))
        await store.close()
        assert await self.ids(store) == ids

    async def test_b50_a_limit_keeps_the_newest_oldest_of_them_first(self, store: Any) -> None:
        for number in (4, 0, 9, 2, 7, 1, 8, 3, 6, 5):
            await store.add(session_entry(f"m{number}", created_at=float(number)))
        assert [entry.memory_id for entry in await store.get_entries("s1", limit=3)] == ["m7", "m8", "m9"]
        assert await store.get_entries("s1", limit=0) == []
        assert await store.get_entries("s1", limit=99) == await store.get_entries("s1", limit=None)
        for bad in (-1, 1.0, "3", True):
            with pytest.raises(ValueError, match="limit"):
                await store.get_entries("s1", limit=bad)

    async def test_what_a_caller_does_to_its_own_objects_changes_nothing(self, store: Any) -> None:
        entry = session_entry("m1", message_data={"tags": ["hot"]})
        await store.add(entry)
        before = copy.deepcopy(entry)
        entry.content = "changed"
        entry.message_data["tags"].append("changed")  # type: ignore[index]
        for found in (await store.get_entry("m1"), *await store.get_entries("s1")):
            assert found == before
            found.message_data["tags"].append("changed")
        assert await store.get_entries("s1") == [before]

    async def test_b52_an_update_moves_updated_at_and_nothing_else_of_what_is_kept(self, store: Any) -> None:
        await store.add(session_entry("m1"))
        with frozen("2026-05-01T00:00:00Z"):
            await store.update(session_entry("m1", role="assistant", content="new", created_at=7.0, updated_at=7.0))
            now = _time.now().timestamp()
        expected = session_entry("m1", role="assistant", content="new", updated_at=now)
        assert await store.get_entries("s1") == [expected]
        with pytest.raises(EntryNotFoundError, match="'m2'"):
            await store.update(session_entry("m2"))
        assert await store.get_entries("s1") == [expected]

    async def test_message_data_that_repeats_the_content_follows_it(self, store: Any) -> None:
        data = {"role": "user", "content": "old", "tool_calls": [1]}
        await store.add(session_entry("m1", content="old", message_data=data))
        found = await store.get_entry("m1")
        found.content = "new"
        await store.update(found)
        assert (await store.get_entry("m1")).message_data == {**data, "content": "new"}
        await store.update(session_entry("m1", content="newest", message_data={"content": "mine"}))
        assert (await store.get_entry("m1")).message_data == {"content": "mine"}

    async def test_an_update_cannot_move_an_entry_to_another_session(self, store: Any) -> None:
        await store.add(session_entry("m1"))
        for moved in (session_entry("m1", "s2"), session_entry("m1", user_id="bob")):
            with pytest.raises(ValueError, match="cannot move"):
                await store.update(moved)
        assert await store.get_entries("s1") == [session_entry("m1")]

    async def test_a_second_entry_with_a_known_id_is_refused_in_whichever_session(self, store: Any) -> None:
        await store.add(session_entry("m1"))
        for again in (session_entry("m1"), session_entry("m1", "s2"), session_entry("m1", user_id="bob")):
            with pytest.raises(DuplicateEntryError, match="'m1'"):
                await store.add(again)
        assert await store.get_entries("s1") == [session_entry("m1")]
        assert (await store.count("s2"), await store.count("s1", "bob")) == (0, 0)
        await store.delete("m1")
        await store.add(session_entry("m1", "s2"))
        assert await store.get_entry("m1") == session_entry("m1", "s2")

    async def test_deleting_an_entry_removes_it_alone_and_deleting_nothing_is_no_error(self, store: Any) -> None:
        for id in ("m1", "m2", "m3"):
            await store.add(session_entry(id))
        for id in ("m2", "m2", "no such id", "", "bad \ud83d"):
            await store.delete(id)
            assert await store.get_entry(id) is None
        assert await self.ids(store) == ["m1", "m3"]
        assert await store.count("s1") == 2

    async def test_an_empty_session_has_nothing(self, store: Any) -> None:
        assert await store.get_entries("none") == await store.get_entries("none", limit=2) == []
        assert await store.count("none") == 0
        await store.delete_session("none")
        await store.delete_session("none", None)

    async def test_b33_users_of_one_session_share_nothing(self, store: Any) -> None:
        for user in ("u1", "u2", "default"):
            for number in range(2):
                await store.add(session_entry(f"{user}-{number}", "s", user))
        await store.delete_session("s", "u1")
        assert [await store.count("s", user) for user in ("u1", "u2", "default")] == [0, 2, 2]
        await store.delete_session("s")
        assert [await store.count("s", user) for user in ("u1", "u2", "default")] == [0, 2, 0]
        await store.add(session_entry("other", "s2", "u2"))
        await store.delete_session("s", user_id=None)
        assert [await store.count("s", user) for user in ("u1", "u2", "default")] == [0, 0, 0]
        assert await store.count("s2", "u2") == 1

    async def test_b32_ids_are_never_mixed_up_when_joined(self, store: Any) -> None:
        first, second = session_entry("m1", "a:b", "c"), session_entry("m2", "a", "b:c")
        await store.add(first)
        await store.add(second)
        assert await store.get_entries("a:b", "c") == [first]
        assert await store.get_entries("a", "b:c") == [second]
        await store.delete_session("a", None)
        assert await store.get_entries("a:b", "c") == [first]

    async def test_b31_b35_any_text_is_an_id_and_none_is_taken_for_another(self, store: Any) -> None:
        entries = [session_entry(f"s{n}", id) for n, id in enumerate(ODD_IDS)]
        entries += [session_entry(f"u{n}", "s1", id) for n, id in enumerate(ODD_IDS)]
        entries += [session_entry(id, "ids") for id in ODD_IDS]
        for entry in entries:
            await store.add(entry)
        await store.close()
        for n, id in enumerate(ODD_IDS):
            assert await store.get_entries(id) == [entries[n]], id
            assert await store.get_entries("s1", id) == [entries[len(ODD_IDS) + n]], id
            assert await store.get_entry(id) == session_entry(id, "ids")
        assert await self.ids(store, "ids") == ODD_IDS
        for n, id in enumerate(ODD_IDS):
            await store.update(replace(entries[n], content="changed"))
            assert [entry.content for entry in await store.get_entries(id)] == ["changed"]
            await store.delete_session(id)
            await store.delete_session("s1", id)
            await store.delete(id)
            left = len(ODD_IDS) - n - 1
            assert await store.count("ids") == left
            assert (await store.count(id), await store.count("s1", id)) == (0, 0)
        assert [await store.count(id) for id in ODD_IDS] == [0] * len(ODD_IDS)

    @pytest.mark.parametrize("bad", ["", "bad \ud83d end", None, 5], ids=["empty", "surrogate", "None", "number"])
    async def test_what_is_no_id_is_refused(self, store: Any, bad: Any) -> None:
        for field in ("session_id", "user_id", "memory_id"):
            entry = replace(session_entry("m1"), **{"memory_id": "m1", field: bad})
            setattr(entry, field, bad)
            with pytest.raises(ValueError, match=field):
                await store.add(entry)
        for ask in (store.get_entries, store.count, store.delete_session):
            with pytest.raises(ValueError, match="session_id"):
                await ask(bad)
        for ask in (store.get_entries, store.count):
            with pytest.raises(ValueError, match="user_id"):
                await ask("s1", bad)
        assert await store.get_entries("s1") == []

    @pytest.mark.parametrize("text", list(ODD_TEXTS.values()), ids=list(ODD_TEXTS))
    async def test_b21_b54_an_odd_text_comes_back_as_it_was(self, store: Any, text: str) -> None:
        entry = session_entry("m1", content=text, role=text[:9], message_data={"content": text})
        await store.add(entry)
        await store.add(session_entry("m2"))
        await store.close()
        assert await store.get_entries("s1") == [entry, session_entry("m2")]
        assert await store.get_entry("m1") == entry

    @pytest.mark.parametrize("field", ["content", "role", "message_data"])
    async def test_b53_a_lone_surrogate_is_refused_and_the_store_goes_on(self, store: Any, field: str) -> None:
        bad = "bad \ud83d end"
        await store.add(session_entry("m1"))
        for entry in (session_entry("m2"), session_entry("m1")):
            setattr(entry, field, {"k": [bad]} if field == "message_data" else bad)
            with pytest.raises(ValueError, match=rf"(?s){field}.*surrogate"):
                await (store.add if entry.memory_id == "m2" else store.update)(entry)
        await store.add(session_entry("m3"))
        assert await store.get_entries("s1") == [session_entry("m1"), session_entry("m3")]

    @pytest.mark.parametrize("data", list(KEPT_DATA.values()), ids=list(KEPT_DATA))
    async def test_b56_message_data_comes_back_equal_and_of_the_same_types(self, store: Any, data: Any) -> None:
        await store.add(session_entry("m1", message_data=data))
        await store.close()
        (found,) = await store.get_entries("s1")
        assert repr(found.message_data) == repr(data)

    async def test_b55_b56_message_data_that_is_no_json_is_refused_naming_the_key(self, store: Any) -> None:
        endless: dict[str, Any] = {}
        endless["self"] = endless
        for bad in ({"n": float("nan")}, {"n": float("inf")}, {1: "a", "1": "b"}, {"s": {1}}, {"b": b"x"}, endless):
            with pytest.raises(ValueError, match="message_data"):
                await store.add(session_entry("m1", message_data=bad))
        with pytest.raises(ValueError, match=r"message_data is .*must be a dict"):
            await store.add(session_entry("m1", message_data="text"))
        assert await store.get_entries("s1") == []
        await store.add(session_entry("m1", message_data={"t": (1, 2)}))
        assert (await store.get_entry("m1")).message_data == {"t": [1, 2]}

    @pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), "now", True, 10**400], ids=repr)
    async def test_a_time_that_is_no_number_is_refused(self, store: Any, bad: Any) -> None:
        for field in ("created_at", "updated_at"):
            entry = session_entry("m1")
            setattr(entry, field, bad)
            with pytest.raises(ValueError, match=field):
                await store.add(entry)
        await store.add(session_entry("m1", created_at=3, updated_at=-1))
        assert [(found.created_at, found.updated_at) for found in await store.get_entries("s1")] == [(3.0, -1.0)]

    async def test_what_is_no_entry_is_refused(self, store: Any) -> None:
        for bad in ({"session_id": "s1"}, "text", None):
            with pytest.raises(ValueError, match="no MemoryEntry"):
                await store.add(bad)

    async def test_it_needs_no_initialising_can_be_closed_at_any_time_and_goes_on(self, store: Any) -> None:
        await store.close()
        await store.initialize()
        await store.initialize()
        await store.add(session_entry("m1"))
        await store.close()
        await store.close()
        await store.add(session_entry("m2"))
        assert await self.ids(store) == ["m1", "m2"]
        async with store as entered:
            assert entered is store
            assert await store.count("s1") == 2
        assert await store.count("s1") == 2

    async def test_adds_at_once_are_all_kept(self, store: Any) -> None:
        await asyncio.gather(*(store.add(session_entry(f"m{number}")) for number in range(20)))
        assert await store.count("s1") == 20

    def test_one_event_loop_after_another_can_use_it(self, store: Any) -> None:
        async def add_two(number: int) -> None:
            await asyncio.gather(*(store.add(session_entry(f"m{number}.{part}")) for part in range(2)))

        for number in range(2):
            asyncio.run(add_two(number))
        assert asyncio.run(store.count("s1")) == 4

    def test_threads_with_their_own_loops_can_use_it_at_once(self, store: Any) -> None:
        failed: list[BaseException] = []

        async def work(thread: int) -> None:
            for number in range(8):
                await store.add(session_entry(f"m{thread}.{number}"))
                await store.update(session_entry(f"m{thread}.{number}", content="changed"))
                assert (await store.get_entry(f"m{thread}.{number}")).content == "changed"
                await store.get_entries("s1", limit=3)

        def run(thread: int) -> None:
            try:
                asyncio.run(work(thread))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert asyncio.run(store.count("s1")) == 32

    async def test_a_bulk_write_stores_all_or_nothing(self, store: Any) -> None:
        self._skip_unless_it_is(SupportsSessions, store)
        await store.add_many([])
        await store.add_many(session_entry(f"m{n}", f"s{n % 3}", created_at=float(-n)) for n in range(7))
        assert await self.ids(store, "s0") == ["m6", "m3", "m0"]
        for bad in ([session_entry("n1"), session_entry("m3", "s9")], [session_entry("n1"), session_entry("n1")]):
            with pytest.raises(DuplicateEntryError):
                await store.add_many(bad)
        with pytest.raises(ValueError, match="entry 2: content"):
            await store.add_many([session_entry("n1"), session_entry("n2", content="\ud83d")])
        assert [await store.count(f"s{n}") for n in range(3)] == [3, 2, 2]
        assert await store.get_entry("n1") is None

    async def test_sessions_are_listed_with_their_users_and_times(self, store: Any) -> None:
        self._skip_unless_it_is(SupportsSessions, store)
        assert await store.sessions() == []
        for id, session, user, time in (
            ("m1", "b", "u", 5.0), ("m2", "a", "u2", 2.0), ("m3", "b", "u", 1.0), ("m4", "a", "u1", 2.0),
            ("m5", "b", "u", 3.0), ("m6", "gone", "u", 3.0),
        ):  # fmt: skip
            await store.add(session_entry(id, session, user, created_at=time))
        await store.delete("m6")
        assert await store.sessions() == [
            SessionInfo("a", "u1", 1, 2.0, 2.0),
            SessionInfo("a", "u2", 1, 2.0, 2.0),
            SessionInfo("b", "u", 3, 1.0, 5.0),
        ]

    async def test_entries_can_be_read_one_by_one(self, store: Any) -> None:
        self._skip_unless_it_is(SupportsSessions, store)
        entries = [session_entry(f"m{n}", created_at=float(n // 5 * (-1) ** (n % 2))) for n in range(1203)]
        await store.add_many(entries)
        assert [entry async for entry in store.iter_entries("s1")] == await store.get_entries("s1")
        assert [entry async for entry in store.iter_entries("none")] == []
        async for entry in store.iter_entries("s1"):
            await store.update(replace(entry, content="changed"))
            break
        assert await store.count("s1") == 1203

    async def test_a_session_is_replaced_as_a_whole_or_not_at_all(self, store: Any) -> None:
        self._skip_unless_it_is(SupportsReplace, store)
        for id in ("m1", "m2", "m3"):
            await store.add(session_entry(id))
        await store.add(session_entry("other", "s2"))
        new = [session_entry("sum", role="summary"), session_entry("m3", content="kept"), session_entry("m4")]
        for bad, cause in (
            ([*new, session_entry("m9", "s2")], "'m9' is of session 's2'"),
            ([*new, session_entry("m9", user_id="bob")], "user 'bob'"),
            ([*new, session_entry("other")], "'other'"),
            ([*new, session_entry("m4")], "'m4'"),
            ([*new, session_entry("m9", content="\ud83d")], "content"),
        ):
            with pytest.raises(ValueError, match=cause):
                await store.replace_session("s1", "default", bad)
            assert await self.ids(store) == ["m1", "m2", "m3"]
        assert await store.replace_session("s1", "default", new) is True
        assert await store.get_entries("s1") == new
        assert await store.get_entries("s2") == [session_entry("other", "s2")]
        assert await store.get_entry("m1") is None
        await store.add(session_entry("m1", "s2"))
        await store.replace_session("s1", "default", [])
        assert await store.get_entries("s1") == []
        await store.replace_session("new", "bob", [session_entry("m4", "new", "bob")])
        assert await store.count("new", "bob") == 1

    async def test_a_session_that_has_changed_meanwhile_is_not_replaced(self, store: Any) -> None:
        self._skip_unless_it_is(SupportsReplace, store)
        for id in ("m1", "m2"):
            await store.add(session_entry(id, message_data={"b": 1, "a": 2}))
        seen = await store.get_entries("s1")
        await store.add(session_entry("late"))
        new = [session_entry("sum", role="summary")]
        assert await store.replace_session("s1", "default", new, seen) is False
        assert await self.ids(store) == ["m1", "m2", "late"]
        assert await store.replace_session("s1", "default", new, await store.get_entries("s1")) is True
        assert await store.get_entries("s1") == new
        assert await store.replace_session("s2", "default", [session_entry("m1", "s2")], []) is True

    async def test_a_new_store_has_no_damage(self, store: Any) -> None:
        if not hasattr(store, "damage"):
            pytest.skip("the store does not tell of damage")
        await store.add(session_entry("m1"))
        assert list(store.damage) == []

    async def ids(self, store: Any, session_id: str = "s1") -> list[str]:
        """Return the ids of a session's entries, in order."""
        return [entry.memory_id for entry in await store.get_entries(session_id)]

    def _skip_unless_it_is(self, ability: type, store: Any) -> None:
        if not isinstance(store, ability):
            pytest.skip(f"the store is not {ability.__name__}")
