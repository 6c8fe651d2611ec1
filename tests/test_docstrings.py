"""The examples in docstrings are code that runs."""

from __future__ import annotations

import ast
import inspect
import os
import textwrap
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import memwb
from memwb import bridge, callbacks, evaluation, memory, ranking, sessions, stores, testing
from memwb.memory import MemoryManager
from memwb.sessions import InMemoryStore, MemoryEntry
from memwb.stores import SQLiteMemoryStore, TestMemoryStore
from memwb.transfer import transfer

PROJECT = Path(__file__).parents[1]
NO_CODE = {  # what the block shows instead
    ("memwb/evaluation/folder.py", ""): "the files of a folder",
    ("memwb/workbench/snapshot.py", ""): "the files of a folder",
    ("memwb/stores/sqlite/_index.py", ""): "a formula",
}
NEEDS = {"onnxruntime": "MiniLMEmbedder(", "sentence_transformers": "SentenceTransformersEmbedder("}


@cache
def blocks() -> list[Any]:
    """Return each block that a docstring announces by two colons, with its file and what it belongs to."""
    found = []
    for path in sorted((PROJECT / "memwb").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = "" if isinstance(node, ast.Module) else node.name
                for block in blocks_in(ast.get_docstring(node) or ""):
                    file = path.relative_to(PROJECT).as_posix()
                    found.append(pytest.param(file, name, block, id=f"{file.removesuffix('.py')}:{name}"))
    return found


def blocks_in(docstring: str) -> list[str]:
    found, lines = [], docstring.splitlines()
    for number, line in enumerate(lines):
        if line.rstrip().endswith("::"):
            indent = len(line) - len(line.lstrip())
            block = []
            for below in lines[number + 1 :]:
                if below.strip() and len(below) - len(below.lstrip()) <= indent:
                    break
                block.append(below)
            found.append(textwrap.dedent("\n".join(block)).strip())
    return found


def test_blocks_are_found():
    assert len(blocks()) > 25
    assert {(file, name) for file, name, _ in (each.values for each in blocks())} >= set(NO_CODE)


def given(name: str) -> dict[str, Any]:
    """Return what a reader has at hand: the public names, and something of each kind that an example speaks of."""
    names: dict[str, Any] = {"memwb": memwb, "pytest": pytest, "Path": Path, "bridge": bridge, "transfer": transfer}
    for module in (callbacks, memory, ranking, evaluation, testing, stores):
        names |= {each: getattr(module, each) for each in module.__all__ if each not in names}
    if name in ("FileStore", "InMemoryStore", "SQLiteStore", "transfer", "SessionSearch"):
        names |= {each: getattr(sessions, each) for each in sessions.__all__}
    store = TestMemoryStore(name="notes", persist=False)
    messages = [{"role": role, "content": [{"text": role}]} for role in ("user", "assistant", "user", "assistant") * 2]
    return names | {
        "store": store,
        "notes": store,
        "manager": MemoryManager([store]),
        "messages": messages,
        "dsn": "",
        # A database of a team's own is not at hand; tests/stores/postgres has one.
        "PostgresMemoryStore": lambda dsn: SQLiteMemoryStore(":memory:", name="team"),
        "MyStore": lambda *folder, **more: store,
        "partial": partial,
        "os": os,
    }


@pytest.mark.parametrize(("file", "name", "block"), blocks())
async def test_an_example_runs(file, name, block, tmp_path, monkeypatch):
    if (file, name) in NO_CODE:
        with pytest.raises(SyntaxError):
            compile(block, file, "exec")
        return
    for package, call in NEEDS.items():
        if call in block:
            pytest.importorskip(package, reason=f"The example needs {package}.")
    if file.startswith("memwb/bridge/strands"):
        pytest.importorskip("strands", reason="The example is for the SDK.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    names = given(name)
    if file == "memwb/transfer/__init__.py":
        names |= {each: getattr(sessions, each) for each in sessions.__all__}
        names["sessions"] = InMemoryStore()
        await names["sessions"].add(MemoryEntry("s", user_id="alice", content="I prefer Python."))
    if file.startswith("memwb/bridge"):
        from strands import Agent

        from memwb.bridge import strands

        names |= {"Agent": Agent, "scripted": strands.scripted, "OpenAIModel": lambda model_id: strands.scripted([])}

    made = eval(compile(block, file, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.isawaitable(made):
        await made
