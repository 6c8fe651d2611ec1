"""A file for a store, with helpers that look at it behind the store's back."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memwb.stores import TestMemoryStore


@dataclass
class StoreFile:
    """The file that a test's stores share."""

    path: Path

    def store(self, **config: Any) -> TestMemoryStore:
        """Return another store object on this file."""
        return TestMemoryStore(**{"name": "notes", "path": self.path, **config})

    def write(self, data: bytes | str) -> None:
        """Write as a foreign program would: in place, without a lock."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(data if isinstance(data, bytes) else data.encode())

    def bytes(self) -> bytes:
        """Return what is in the file."""
        return self.path.read_bytes()

    def records(self) -> list[dict[str, Any]]:
        """Return the records in the file, read by a parser that takes only strict JSON."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} in the file")

        parsed: list[dict[str, Any]] = json.loads(self.path.read_text(encoding="utf-8"), parse_constant=refuse)
        return parsed

    def contents(self) -> list[str]:
        """Return the contents in the file."""
        return [record["content"] for record in self.records()]

    def neighbours(self) -> list[str]:
        """Return the names in the file's folder."""
        return sorted(os.listdir(self.path.parent))


@pytest.fixture
def file(tmp_path: Path) -> StoreFile:
    return StoreFile(tmp_path / "memory" / "notes.json")
