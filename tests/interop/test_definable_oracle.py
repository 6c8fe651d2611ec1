"""Databases and folders exchanged with Definable itself, both ways.

Definable's releases need Python 3.12. Name an interpreter that has it in MEMWB_DEFINABLE to run this::

    python3.12 -m venv definable && definable/bin/pip install definable==0.3.0
    MEMWB_DEFINABLE=definable/bin/python pytest tests/interop/test_definable_oracle.py
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from memwb.sessions import FileStore, MemoryEntry, SQLiteStore

DEFINABLE = os.environ.get("MEMWB_DEFINABLE", "")
pytestmark = pytest.mark.skipif(not DEFINABLE, reason="MEMWB_DEFINABLE names no Python with Definable")

ENTRIES = [
    MemoryEntry("chat 7", "m1", "alice", "user", "naïve ✓ 東京 a\x00b", None, 5.5, 6.5),
    MemoryEntry("chat 7", "m2", "alice", "assistant", "", {"tool_calls": [{"id": "t", "n": 2**60}]}, 5.5, 5.5),
    MemoryEntry("chat 7", "m3", "alice", "summary", "line\u2028end\n", {"k": "\u2028"}, 1.0, 1.0),
    MemoryEntry("chat 7", "m4", "bob", "tool", "x", {"tool_call_id": "t"}, 2.0, 2.0),
    MemoryEntry("東京", "m5", "default", "user", "y", None, 3.0, 3.0),
]
KEYS = [("chat 7", "alice"), ("chat 7", "bob"), ("東京", "default")]
STORES = {"SQLiteStore": (SQLiteStore, "memory.db"), "FileStore": (FileStore, "memory")}

PROGRAM = """
import asyncio, json, sys
from definable.memory import FileStore, MemoryEntry, SQLiteStore
name, path, todo, given = json.loads(sys.stdin.read())
async def main():
    async with globals()[name](path) as store:
        if todo == "write":
            for entry in given:
                await store.add(MemoryEntry(**entry))
        if todo == "edit":
            entry = await store.get_entry("m1")
            entry.content = "edited"
            await store.update(entry)
            await store.delete("m4")
        return [[e.to_dict() for e in await store.get_entries(*key)] for key in given if todo == "read"]
print(json.dumps(asyncio.run(main())))
"""


def definable(kind, path, todo, given):
    done = subprocess.run(
        [DEFINABLE, "-c", PROGRAM], input=json.dumps([kind, str(path), todo, given]), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def by_key():
    return [
        sorted((e for e in ENTRIES if (e.session_id, e.user_id) == key), key=lambda entry: entry.created_at)
        for key in KEYS
    ]


@pytest.mark.parametrize("kind", STORES)
async def test_what_memwb_writes_definable_reads_and_edits(kind, tmp_path):
    make, name = STORES[kind]
    async with make(tmp_path / name) as store:
        await store.add_many(ENTRIES)
        assert definable(kind, tmp_path / name, "read", KEYS) == [[e.to_dict() for e in each] for each in by_key()]
        definable(kind, tmp_path / name, "edit", [])
        assert (await store.get_entry("m1")).content == "edited"
        assert await store.count("chat 7", "bob") == 0
        assert list(store.damage) == []


@pytest.mark.parametrize("kind", STORES)
async def test_what_definable_writes_memwb_reads_and_changes_and_definable_reads_again(kind, tmp_path):
    make, name = STORES[kind]
    definable(kind, tmp_path / name, "write", [entry.to_dict() for entry in ENTRIES])
    async with make(tmp_path / name) as store:
        assert [await store.get_entries(*key) for key in KEYS] == by_key()
        await store.update(MemoryEntry("chat 7", "m1", "alice", content="changed"))
        await store.add(MemoryEntry("chat 7", "m6", "bob", content="late", created_at=9.0, updated_at=9.0))
        await store.delete_session("東京")
        assert list(store.damage) == []
        found = definable(kind, tmp_path / name, "read", KEYS)
        assert [[entry["memory_id"] for entry in each] for each in found] == [["m3", "m1", "m2"], ["m4", "m6"], []]
        assert found[0][1]["content"] == "changed"
