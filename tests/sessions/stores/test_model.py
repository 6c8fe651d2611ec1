"""Random steps, done by a store and by a dict: they never differ, whatever the order and whenever it is reopened."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memwb.errors import DuplicateEntryError, EntryNotFoundError
from memwb.sessions import FileStore, InMemoryStore, MemoryEntry, SessionInfo, SQLiteStore

SESSIONS = st.sampled_from(["s", "S", "s/x", "%s", "é", "s:u", "n" * 300])
USERS = st.sampled_from(["default", "u", "U", "u:s", ".."])
IDS = st.sampled_from([f"m{number}" for number in range(12)] + ["m\u00e9", "m\n", "M1"])
TIMES = st.sampled_from([0.0, 1.0, 1.5, 2.0])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
DATA = st.none() | st.dictionaries(TEXTS, st.integers() | TEXTS | st.none() | st.lists(st.booleans()), max_size=2)
ENTRIES = st.builds(MemoryEntry, SESSIONS, IDS, USERS, TEXTS, TEXTS, DATA, TIMES, TIMES)


class Model(RuleBasedStateMachine):
    """The dict holds the entries by id, in the order of adding."""

    make = staticmethod(lambda folder: InMemoryStore())

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        self.store = self.make(self.folder)
        self.entries = {}

    def teardown(self):
        self.run(self.store.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def run(self, coroutine):
        return self.runner.run(coroutine)

    def of(self, session, user):
        return [e for e in self.entries.values() if (e.session_id, e.user_id) == (session, user)]

    def ordered(self, session, user):
        return sorted(self.of(session, user), key=lambda entry: entry.created_at)

    @rule(entry=ENTRIES)
    def add(self, entry):
        if entry.memory_id in self.entries:
            with pytest.raises(DuplicateEntryError):
                self.run(self.store.add(entry))
        else:
            self.run(self.store.add(entry))
            self.entries[entry.memory_id] = entry

    @rule(entries=st.lists(ENTRIES, max_size=4))
    def add_many(self, entries):
        ids = [entry.memory_id for entry in entries]
        if len(set(ids)) < len(ids) or self.entries.keys() & set(ids):
            with pytest.raises(DuplicateEntryError):
                self.run(self.store.add_many(entries))
        else:
            self.run(self.store.add_many(entries))
            self.entries |= {entry.memory_id: entry for entry in entries}

    @rule(id=IDS, content=TEXTS, data=DATA)
    def update(self, id, content, data):
        if id not in self.entries:
            with pytest.raises(EntryNotFoundError):
                self.run(self.store.update(MemoryEntry("s", id, content=content)))
            return
        entry = replace(self.entries[id], content=content, message_data=data)
        self.run(self.store.update(entry))
        found = self.run(self.store.get_entry(id))
        assert found.updated_at > 1e9
        if data != self.entries[id].message_data:  # else a repeated content follows
            assert found == replace(entry, updated_at=found.updated_at)
        self.entries[id] = found

    @rule(id=IDS)
    def delete(self, id):
        self.run(self.store.delete(id))
        self.entries.pop(id, None)

    @rule(session=SESSIONS, user=USERS | st.none())
    def delete_session(self, session, user):
        self.run(self.store.delete_session(session, user))
        self.entries = {
            id: entry
            for id, entry in self.entries.items()
            if entry.session_id != session or user not in (None, entry.user_id)
        }

    @rule(session=SESSIONS, user=USERS, entries=st.lists(ENTRIES, max_size=4), changed=st.booleans())
    def replace_session(self, session, user, entries, changed):
        entries = [replace(entry, session_id=session, user_id=user) for entry in entries]
        ids = [entry.memory_id for entry in entries]
        old = self.ordered(session, user)
        elsewhere = self.entries.keys() - {entry.memory_id for entry in old}
        expected = [*old, MemoryEntry(session, "unseen", user)] if changed else old
        if len(set(ids)) < len(ids) or (elsewhere & set(ids) and not changed):
            with pytest.raises(DuplicateEntryError):
                self.run(self.store.replace_session(session, user, entries, expected))
            return
        assert self.run(self.store.replace_session(session, user, entries, expected)) is not changed
        if not changed:
            for entry in old:
                del self.entries[entry.memory_id]
            self.entries |= {entry.memory_id: entry for entry in entries}

    @rule()
    def reopen(self):
        self.run(self.store.close())
        if not isinstance(self.store, InMemoryStore):
            self.store = self.make(self.folder)

    @rule(session=SESSIONS, user=USERS, limit=st.integers(0, 5))
    def read(self, session, user, limit):
        ordered = self.ordered(session, user)
        assert self.run(self.store.get_entries(session, user)) == ordered
        newest = ordered[max(0, len(ordered) - limit) :]
        assert self.run(self.store.get_entries(session, user, limit=limit)) == newest
        assert self.run(self.store.count(session, user)) == len(ordered)

        async def one_by_one():
            return [entry async for entry in self.store.iter_entries(session, user)]

        assert self.run(one_by_one()) == ordered

    @rule(id=IDS)
    def get(self, id):
        assert self.run(self.store.get_entry(id)) == self.entries.get(id)

    @invariant()
    def same_sessions(self):
        keys = sorted({(entry.session_id, entry.user_id) for entry in self.entries.values()})
        times = {key: [entry.created_at for entry in self.of(*key)] for key in keys}
        assert self.run(self.store.sessions()) == [
            SessionInfo(*key, len(times[key]), min(times[key]), max(times[key])) for key in keys
        ]
        assert list(self.store.damage) == []


class SQLiteModel(Model):
    make = staticmethod(lambda folder: SQLiteStore(folder / "memory.db"))


class FileModel(Model):
    make = staticmethod(lambda folder: FileStore(folder / "memory"))


STEPS = settings(max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TestInMemory = Model.TestCase
TestInMemory.settings = STEPS
TestSQLite = SQLiteModel.TestCase
TestSQLite.settings = settings(STEPS, max_examples=8)  # opening and closing wait for the disk
TestFiles = FileModel.TestCase
TestFiles.settings = STEPS
