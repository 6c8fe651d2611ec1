"""Vectors kept on disk: a text goes through the model once."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from contextlib import closing

import numpy
import pytest

from memwb.errors import ConfigError, DamagedFileError
from memwb.ranking import CachedEmbedder, Embedder, HashingEmbedder
from memwb.stores import SQLiteMemoryStore


class Counted(HashingEmbedder):
    """Remembers which texts it was asked for."""

    def __init__(self, name="counted", dimensions=8):
        super().__init__(dimensions)
        self.name, self.asked = name, []

    async def embed(self, texts):
        self.asked.append(sorted(texts))
        return await super().embed(texts)


async def test_a_text_is_embedded_once_also_by_the_next_program(tmp_path):
    file = tmp_path / "cache" / "vectors.db"
    first, second = Counted(), Counted()

    vectors = await CachedEmbedder(first, file).embed(["tea", "coffee", "tea"])
    again = await CachedEmbedder(second, file).embed(["milk", "coffee", "tea"])

    assert isinstance(CachedEmbedder(first, file), Embedder)
    assert (first.asked, second.asked) == ([["coffee", "tea"]], [["milk"]])
    plain = await HashingEmbedder(8).embed(["tea", "coffee", "milk"])
    assert numpy.array_equal(vectors, plain[[0, 1, 0]])
    assert numpy.array_equal(again, plain[[2, 1, 0]])


async def test_models_of_other_names_or_dimensions_share_nothing(tmp_path):
    embedders = [Counted(), Counted("other"), Counted(dimensions=4)]
    for embedder in embedders:
        await CachedEmbedder(embedder, tmp_path / "vectors.db").embed(["tea"])

    assert [embedder.asked for embedder in embedders] == [[["tea"]]] * 3


async def test_what_a_batch_gave_stays_when_a_later_one_fails(tmp_path):
    class Failing(Counted):
        async def embed(self, texts):
            if len(self.asked) == 1:
                raise RuntimeError("interrupted")
            return await super().embed(texts)

    file, embedder, done = tmp_path / "vectors.db", Counted(), []
    with pytest.raises(RuntimeError, match="interrupted"):
        await CachedEmbedder(Failing(), file, batch=2).embed(["a", "bb", "ccc"])

    await CachedEmbedder(embedder, file, progress=lambda *told: done.append(told)).embed(["a", "bb", "ccc", "dddd"])

    assert (embedder.asked, done) == ([["ccc", "dddd"]], [(2, 2)])


async def test_progress_true_shows_a_bar(tmp_path, capsys):
    pytest.importorskip("tqdm", reason="the bar is tqdm's")
    await CachedEmbedder(Counted(), tmp_path / "vectors.db", progress=True).embed(["a", "b"])

    assert "embed: 100%" in capsys.readouterr().err


def test_threads_with_loops_of_their_own_may_use_one_file(tmp_path):
    found = {}

    def work(number):
        texts = [f"text {number} {at}" for at in range(20)] + ["shared"]
        found[number] = asyncio.run(CachedEmbedder(Counted(), tmp_path / "vectors.db", batch=5).embed(texts))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number].shape for number in range(4)] == [(21, 8)] * 4


async def test_a_file_that_is_no_database_is_named_and_left(tmp_path):
    file = tmp_path / "vectors.db"
    file.write_bytes(b"something else" * 100)

    with pytest.raises(DamagedFileError, match=r"vectors\.db.*delete it, and the texts are embedded anew"):
        await CachedEmbedder(Counted(), file).embed(["tea"])

    assert file.read_bytes() == b"something else" * 100


async def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(OSError, match=f"CachedEmbedder: could not use {tmp_path}{os.sep}file"):
        await CachedEmbedder(Counted(), tmp_path / "file" / "vectors.db").embed(["tea"])


@pytest.mark.parametrize("given", [{"embedder": "MiniLM"}, {"batch": 0}, {"path": ""}])
def test_a_setting_that_cannot_be_used_is_refused(given):
    with pytest.raises(ConfigError, match="CachedEmbedder: "):
        CachedEmbedder(**{"embedder": Counted(), **given})


async def test_the_file_of_a_store_is_refused_and_stays_usable(tmp_path):
    file = tmp_path / "notes.db"
    store = SQLiteMemoryStore(file)
    await store.add("tea")

    with pytest.raises(DamagedFileError, match=r"notes\.db: it is a database of something else.*a file of their own"):
        await CachedEmbedder(Counted(), file).embed(["tea"])

    assert await SQLiteMemoryStore(file).count() == 1


@pytest.mark.parametrize("written", [5, "text", b"", numpy.full(8, numpy.nan, "<f4").tobytes(), bytes(32)])
async def test_what_no_embedder_wrote_is_embedded_anew(tmp_path, written):
    file, embedder = tmp_path / "vectors.db", Counted()
    first = await CachedEmbedder(embedder, file).embed(["tea"])
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE vectors SET vector = ?", (written,))

    again = await CachedEmbedder(embedder, file).embed(["tea"])

    assert numpy.array_equal(first, again)
    assert embedder.asked == [["tea"], ["tea"]]


@pytest.mark.parametrize("name", [None, 5, "\ud800"])
def test_a_name_that_no_vector_can_be_kept_under_is_refused(name):
    with pytest.raises(ConfigError, match="CachedEmbedder: the embedder's name is"):
        CachedEmbedder(Counted(name))


async def test_the_event_loop_runs_while_another_program_writes(tmp_path):
    file = tmp_path / "vectors.db"
    embedder = CachedEmbedder(Counted(), file)
    await embedder.embed(["tea"])
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        waiting = asyncio.create_task(embedder.embed(["milk"]))
        await asyncio.wait([waiting], timeout=0.2)
        other.execute("ROLLBACK")  # it is the loop that comes to this
        assert (await waiting).shape == (1, 8)
