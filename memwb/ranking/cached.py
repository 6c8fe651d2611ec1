"""Vectors kept on disk, so that a text goes through a model once: in this program, the next one, or one beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import described
from .._json import lone_surrogate
from .._settings import checked_path
from ..errors import ConfigError, DamagedFileError
from .embedder import Embedder, embedded

if TYPE_CHECKING:
    import sqlite3

    from .embedder import Vectors

_WHERE = "CachedEmbedder"
_DEFAULT = "~/.cache/memwb/vectors.db"
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, text_hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text_hash)
)"""
_PATIENCE = 60.0
"""Seconds that another program's write is waited for."""


class CachedEmbedder:
    """An embedder that asks another one only for texts that it has not seen yet, in batches.

    ::

        embedder = CachedEmbedder(MiniLMEmbedder(), progress=True)

    Vectors are kept in an SQLite file, which several processes may use, under the model's name and the SHA-256 of the
    text; the text itself is not kept. The file may be deleted at any time. What a batch gave is kept at once: who
    interrupts a long run goes on from there.

    Args:
        embedder: The one that is asked.
        path: The file; ``~/.cache/memwb/vectors.db`` where it is left out.
        batch: The texts that the other embedder is given at a time.
        progress: True shows a bar (it needs the package tqdm); a function is called with texts done and texts in all.

    Raises:
        ConfigError: A setting cannot be used.
    """

    def __init__(
        self,
        embedder: Embedder,
        path: str | os.PathLike[str] = _DEFAULT,
        *,
        batch: int = 256,
        progress: bool | Callable[[int, int], object] = False,
    ) -> None:
        if not isinstance(embedder, Embedder):
            raise ConfigError(
                f"{_WHERE}: embedder is {embedder!r:.80}; it must have a name, dimensions and embed(texts).",
                key="embedder",
                value=embedder,
            )
        if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
            message = f"{_WHERE}: batch is {batch!r:.80}; it must be a whole number, at least 1."
            raise ConfigError(message, key="batch", value=batch)
        if not isinstance(embedder.name, str) or lone_surrogate(embedder.name) is not None:
            message = f"{_WHERE}: the embedder's name is {embedder.name!r:.80}; vectors are kept under it, as a text."
            raise ConfigError(message, key="embedder", value=embedder.name)
        self.embedder, self.batch, self.progress = embedder, batch, progress
        self.path: Path = checked_path(path, "path", _WHERE)
        self.name, self.dimensions = embedder.name, embedder.dimensions

    def __repr__(self) -> str:
        return f"CachedEmbedder({self.embedder!r}, {str(self.path)!r})"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors: kept ones, and the others from the embedder, each text once.

        Raises:
            DamagedFileError: The file is no database, a broken one, or one of something else.
            OSError: It cannot be used; the message names it.
        """
        import asyncio

        import numpy

        keys = [sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._told():
            known = await asyncio.to_thread(self._known, keys)  # where it may wait for another program
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        order = sorted(missing, key=lambda key: len(missing[key]))  # a model is quickest with texts of one length
        with progress_of(self.progress, len(order)) as advance:
            for start in range(0, len(order), self.batch):
                chunk = order[start : start + self.batch]
                new = await embedded(self.embedder, [missing[key] for key in chunk])
                fresh = dict(zip(chunk, new, strict=True))
                with self._told():
                    await asyncio.to_thread(self._keep, fresh)
                known.update(fresh)
                advance(start + len(chunk))
        if not keys:
            return numpy.zeros((0, self.dimensions), numpy.float32)
        return numpy.stack([known[key] for key in keys])

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        import numpy

        found = {}
        with self._opened() as database:
            for key in dict.fromkeys(keys):
                row = database.execute(
                    "SELECT vector FROM vectors WHERE model = ? AND text_hash = ?", (self.name, key)
                ).fetchone()
                if row is None or not isinstance(row[0], bytes) or len(row[0]) != 4 * self.dimensions:
                    continue
                vector = numpy.frombuffer(row[0], "<f4")
                if numpy.isfinite(vector).all() and vector.any():  # else it was not written by an embedder
                    found[key] = vector
        return found

    def _keep(self, vectors: dict[bytes, Any]) -> None:
        rows = [(self.name, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._opened() as database, database:
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for a moment: so no connection is shared between threads or goes into another process."""
        import sqlite3

        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as database:
            self._refuse_another_kind(database)
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute(_TABLE)
            yield database

    def _refuse_another_kind(self, database: sqlite3.Connection) -> None:
        """Refuse the file of a store, which would take this one's table for damage from then on."""
        found = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        )
        names = sorted(name for (name,) in found)
        if names not in ([], ["vectors"]):
            cause = f"it is a database of something else, with the tables {', '.join(names)}"
            advice = "Give the vectors a file of their own."
            raise DamagedFileError(self.path, "", cause, prefix=f"{_WHERE}: ", advice=advice)

    @contextmanager
    def _told(self) -> Iterator[None]:
        import sqlite3

        advice = f"It only keeps what {self.name!r} gave: delete it, and the texts are embedded anew."
        try:
            yield
        except sqlite3.OperationalError as error:
            raise described(
                OSError(5, str(error)), f"{_WHERE}: could not use {self.path}: {error}.", self.path
            ) from error
        except sqlite3.DatabaseError as error:
            raise DamagedFileError(self.path, "", str(error), prefix=f"{_WHERE}: ", advice=advice) from error
        except OSError as error:
            message = f"{_WHERE}: could not use {self.path}: {error.strerror or error}."
            raise described(error, message, self.path) from error


@contextmanager
def progress_of(progress: bool | Callable[[int, int], object], total: int) -> Iterator[Callable[[int], object]]:
    """Give a function that is told how many texts are done."""
    if callable(progress):
        yield lambda done: progress(done, total)
    elif not progress or not total:
        yield lambda done: None
    else:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ConfigError(
                "progress=True needs the package tqdm (`pip install tqdm`). Or give a function of two numbers: texts "
                "done, and texts in all.",
                key="progress",
                value=progress,
            ) from None
        with tqdm(total=total, desc="embed", unit="text") as bar:
            yield lambda done: bar.update(done - bar.n)
