"""Changes of entries are staged, shown, written at once or not at all, and undone; what others wrote is respected."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.catalog import Record
from memwb.errors import ConfigError, ConflictError, DuplicateEntryError, EntryNotFoundError
from memwb.sessions import MemoryEntry, SQLiteStore
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.changes import Change
from memwb.workbench.entries import EntriesState
from memwb.workbench.entry_diff import EntriesDiff, text_parts

from .fakes import ListStore, SearchStore


def file_store(folder, name="notes", *texts):
    records = [
        {"id": f"{name[0]}{at}", "content": text, "createdAt": f"2026-01-0{at}T00:00:00.000Z", "metadata": {"n": at}}
        for at, text in enumerate(texts, 1)
    ]
    path = folder / f"{name}.json"
    path.write_text(json.dumps(records, indent=2))
    return TestMemoryStore(name=name, path=path)


@pytest.fixture
def notes(tmp_path):
    return file_store(tmp_path, "notes", "I like tea.", "I like milk.", "I like rice.")


@pytest.fixture
def facts(tmp_path):
    return file_store(tmp_path, "facts", "The sky is blue.", "I LIKE  tea.")


def entries_of(*stores, editable=True, **chosen):
    entries = EntriesState(list(stores), {}, editable=editable)
    entries.choose(**chosen)
    return entries


async def contents(store):
    return [record.content for record in await store.page(0, 100)]


async def test_nothing_is_changed_unless_that_is_asked_for(notes):
    entries = entries_of(notes, editable=False)
    for change in (entries.put(delete=["n1"]), entries.write(), entries.undo()):
        with pytest.raises(ConfigError, match="editable=True"):
            await change
    entries.editable = True
    entries.stage(delete=["n1"])
    await entries.write()
    assert await contents(notes) == ["I like milk.", "I like rice."]


async def test_what_is_staged_is_told_and_not_written(notes):
    entries, before = entries_of(notes), notes.path.read_bytes()

    diff = entries.stage(
        add=[{"content": "I own a boat.", "id": "new"}], edit={"n1": "I like green tea."}, delete=["n2"]
    )
    assert repr(diff) == (
        "3 changes staged: 1 added, 1 changed, 1 deleted\n"
        "added, notes, new:\n"
        "  + I own a boat.\n"
        "changed, notes, n1:\n"
        "  - I like tea.\n"
        "  + I like green tea.\n"
        "deleted, notes, n2:\n"
        "  - I like milk.\n"
        "  − n: 2"
    )
    assert "<ins>green </ins>" in diff._repr_html_()
    assert notes.path.read_bytes() == before

    await entries.load()
    shown = [(record.content, entries.state_of(record)) for record in entries.records]
    assert shown == [
        ("I own a boat.", "added"),
        ("I like green tea.", "changed"),
        ("I like milk.", "deleted"),
        ("I like rice.", ""),
    ]
    entries.unstage(["n1"])
    assert [change.id for change in entries.staged] == ["new", "n2"]
    entries.unstage()
    assert (entries.staged, len(entries.diff())) == ((), 0)


@given(st.text("ab .", max_size=40), st.text("ab .", max_size=40))
def test_the_pieces_of_a_difference_give_both_texts(before, after):
    parts = text_parts(before, after)
    assert "".join(text for kind, text in parts if kind != "new") == before
    assert "".join(text for kind, text in parts if kind != "gone") == after
    assert all(text for _, text in parts)


def test_a_long_text_is_shown_with_what_changes_in_it_and_compared_in_a_moment():
    long = "tea and " * 100_000
    assert text_parts(f"{long}milk", f"{long}rice {long}") == [
        ("same", long),
        ("gone", "milk"),
        ("new", f"rice {long}"),
    ]
    alike, other = "a b " * 5_000, "b a c " * 5_000
    assert [kind for kind, _ in text_parts(alike, other)] == ["gone", "new", "same"]
    diff = EntriesDiff([Change("notes", "n", Record("n", f"{long}milk{long}"), Record("n", f"{long}rice{long}"))])
    for shown in (repr(diff), diff._repr_html_()):
        assert "milk" in shown
        assert "rice" in shown
        assert "798,000 more characters" in shown
        assert len(shown) < 20_000


async def test_it_is_written_at_once_and_undone_to_the_byte(notes):
    entries, before = entries_of(notes), notes.path.read_bytes()
    entries.stage(add=["I own a boat."], edit={"n1": {"content": "I like green tea.", "metadata": {"n": [1]}}})
    entries.stage(delete=["n2"])

    written = await entries.write()
    assert [change.kind for change in written] == ["added", "changed", "deleted"]
    assert repr(written) == (
        "3 changes: 1 added, 1 changed, 1 deleted\n"
        "- added in 'notes': 'I own a boat.'\n"
        "- changed in 'notes': 'I like tea.' → 'I like green tea.'\n"
        "- deleted in 'notes': 'I like milk.'"
    )
    assert (await contents(notes), entries.staged, entries.undoable) == (
        ["I like green tea.", "I like rice.", "I own a boat."], (), 1,
    )  # fmt: skip
    assert (await notes.get("n1")).metadata == {"n": [1]}

    await entries.undo()
    assert (notes.path.read_bytes(), entries.undoable) == (before, 0)
    with pytest.raises(ConfigError, match="nothing to undo"):
        await entries.undo()
    with pytest.raises(ConfigError, match="nothing is staged"):
        await entries.write()


async def test_a_change_that_changes_nothing_is_none(notes):
    entries = entries_of(notes)
    entries.stage(edit={"n1": "I like green tea."}, add=[{"content": "new", "id": "x"}])
    entries.stage(edit={"n1": "I like tea."}, delete=["x"])
    assert entries.staged == ()


async def test_of_a_group_the_earliest_stays_with_the_metadata_of_all(notes):
    await notes.update("n2", metadata={"n": 2, "from": "chat"})
    entries, before = entries_of(notes), notes.path.read_bytes()

    diff = entries.stage(merge={("n3", "n1", "n2"): "I like tea, milk and rice."})
    assert "merged into n1, notes, n3" in repr(diff)
    await entries.write()
    [record] = await notes.page(0, 9)
    assert (record.id, record.content, record.metadata, record.created_at.day) == (
        "n1", "I like tea, milk and rice.", {"n": 1, "from": "chat"}, 1,
    )  # fmt: skip
    await entries.undo()
    assert notes.path.read_bytes() == before

    entries.stage(merge=[["n2", "n1"]])
    assert [(change.id, change.kind) for change in entries.staged] == [("n2", "merged"), ("n1", "changed")]
    entries.unstage(["n2"])
    assert entries.staged == ()


async def test_an_entry_does_not_go_where_the_one_it_is_merged_into_is_gone_or_changed(notes):
    for change in ("delete", "update"):
        entries = entries_of(notes)
        [kept, *_] = await notes.page(0, 9)
        entries.stage(merge={(kept.id, "n3"): kept.content}, store="notes")
        other = TestMemoryStore(name="notes", path=notes.path)
        await (other.delete(kept.id) if change == "delete" else other.update(kept.id, "other"))
        with pytest.raises(ConflictError):
            await entries.write()
        assert await notes.get("n3") is not None


async def test_entries_of_two_stores_are_merged_and_both_come_back(notes, facts):
    before = notes.path.read_bytes(), facts.path.read_bytes()
    entries = entries_of(notes, facts, store=None)
    entries.stage(merge=[[("notes", "n1"), ("facts", "f2")]])
    await entries.write()
    assert (await contents(facts), (await contents(notes))[0]) == (["The sky is blue."], "I like tea.")
    await entries.undo()
    assert (notes.path.read_bytes(), facts.path.read_bytes()) == before


async def test_an_id_of_two_stores_must_be_told_apart(tmp_path, notes):
    other = file_store(tmp_path, "news", "I like tea, too.")
    entries = entries_of(notes, other, store=None)
    with pytest.raises(ConfigError, match=r"'n1' is an id in notes and news; say which is meant: \('notes', 'n1'\)"):
        entries.stage(delete=["n1"])
    entries.stage(delete=[await other.get("n1"), ("notes", "n1")])
    assert [(change.store, change.id) for change in entries.staged] == [("news", "n1"), ("notes", "n1")]
    with pytest.raises(ConfigError, match="say where to add"):
        entries.stage(add=["new"])
    entries.stage(add=["new"], store="news")
    await entries.write()
    assert (await contents(other), len(await contents(notes))) == (["new"], 2)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"edit": {"x": "new"}}, EntryNotFoundError, "No entry 'x' in 'notes'"),
        ({"edit": {"n1": "  "}}, ConfigError, "not blank"),
        ({"edit": {"n1": {"contents": "new"}}}, ConfigError, "Did you mean 'content'"),
        ({"add": "new"}, ConfigError, r"add=\['new'\]"),
        ({"add": [{"content": "new", "metadata": 1}]}, ConfigError, "a dict or None"),
        ({"delete": "n1"}, ConfigError, r"delete=\['n1'\]"),
        ({"delete": [1]}, ConfigError, "names no entry"),
        ({"merge": [["n1"]]}, ConfigError, "groups of two"),
        ({"merge": [["n1", "n1"]]}, ConfigError, "twice"),
        ({"delete": ["n1"], "store": "nodes"}, ConfigError, "Did you mean 'notes'"),
        ({"delete": ["n1"], "store": ["notes"]}, ConfigError, "store is"),
        ({"add": [{"content": "new", "id": ["n"]}]}, ConfigError, "id is .*must be a text"),
        ({"add": [{"content": "new", "owner": 3}]}, ConfigError, "owner is 3; it must be a text"),
        ({"add": [{"content": "new", "createdAt": "soon"}]}, ConfigError, "createdAt is 'soon'; it must be a time"),
        ({"add": [{"content": "new", "createdAt": datetime(2026, 1, 1)}]}, ConfigError, "with its zone"),
        ({"add": [{"content": "new", "createdAt": 0}]}, ConfigError, "createdAt is 0"),
    ],
    ids=range(16),
)
async def test_what_cannot_be_staged_is_refused_and_nothing_is_staged(notes, change, error, message):
    entries = entries_of(notes)
    with pytest.raises(error, match=message):
        entries.stage(**{"add": ["first"], **change})
    assert entries.staged == ()


async def test_values_of_a_wrong_kind_are_named_in_a_short_sentence(notes):
    entries = entries_of(notes)
    long = "x" * 100_000
    wrong = [
        lambda: entries.unstage("n1"),
        lambda: entries.unstage(3),
        lambda: entries.stage(delete=["n1"], store=long),
    ]
    wrong += [lambda key=key: entries.choose(**{key: long}) for key in ("store", "sort", "page", "owner_", "columns")]
    wrong += [lambda value=value: asyncio.run(entries.salvage(value)) for value in ([], {}, 3)]
    for call in wrong:
        with pytest.raises(ConfigError) as caught:
            await asyncio.to_thread(call)
        assert len(str(caught.value)) < 400


async def test_a_store_that_was_changed_meanwhile_is_not_overwritten_and_all_stays_staged(notes, facts):
    entries = entries_of(notes, facts, store=None)
    entries.stage(edit={"f1": "The sky is grey."}, delete=["n1", "n2"])
    other = TestMemoryStore(name="notes", path=notes.path)
    await other.update("n1", "I like black tea.")
    await other.add("from elsewhere")
    before = notes.path.read_bytes(), facts.path.read_bytes()

    with pytest.raises(ConflictError) as caught:
        await entries.write()
    assert caught.value.conflicts == (("n1", "now says 'I like black tea.'"),)
    assert (notes.path.read_bytes(), facts.path.read_bytes()) == before
    assert len(entries.staged) == 3

    entries.unstage(["n1"])
    await entries.write()
    assert await contents(notes) == ["I like black tea.", "I like rice.", "from elsewhere"]


async def test_what_was_staged_on_an_entry_as_it_was_read_is_not_written_over_a_newer_one(notes):
    entries = entries_of(notes)
    seen = await notes.get("n1")
    await TestMemoryStore(name="notes", path=notes.path).update("n1", "I like black tea.")
    entries.stage(edit={seen: "I like green tea."})
    with pytest.raises(ConflictError, match="now says 'I like black tea"):
        await entries.write()


async def test_when_the_second_store_cannot_be_written_the_first_is_put_back(notes, facts):
    entries, before = entries_of(notes, facts, store=None), notes.path.read_bytes()
    exchange = facts.exchange

    async def failing(before, after, *, only_check=False):
        if not only_check:
            raise OSError("the disk is full")
        return await exchange(before, after, only_check=True)

    facts.exchange = failing
    entries.stage(delete=["n1", "f1"])
    with pytest.raises(OSError, match="disk is full"):
        await entries.write()
    assert (notes.path.read_bytes(), len(entries.staged), entries.undoable) == (before, 2, 0)


async def test_when_the_second_store_cannot_be_undone_the_first_stays_written(notes, facts):
    entries = entries_of(notes, facts, store=None)
    entries.stage(edit={"n1": "I like green tea.", "f1": "The sky is grey."})
    await entries.write()
    await TestMemoryStore(name="notes", path=notes.path).update("n1", "I like black tea.")

    with pytest.raises(ConflictError):
        await entries.undo()
    assert ((await contents(notes))[0], (await contents(facts))[0]) == ("I like black tea.", "The sky is grey.")
    await TestMemoryStore(name="notes", path=notes.path).update("n1", "I like green tea.")
    await entries.undo()
    assert ((await contents(notes))[0], (await contents(facts))[0]) == ("I like tea.", "The sky is blue.")


async def test_a_text_that_another_entry_holds_is_refused_before_anything_is_written(notes, facts):
    entries, before = entries_of(notes, facts, store=None), facts.path.read_bytes()
    entries.stage(edit={"f1": "The sky is grey.", "n1": "I like milk."})
    with pytest.raises(DuplicateEntryError):
        await entries.write()
    assert facts.path.read_bytes() == before


async def test_stores_that_cannot_list_or_edit_say_so(tmp_path, notes):
    fixed = TestMemoryStore(name="fixed", path=notes.path, writable=False)
    entries = entries_of(notes, SearchStore("a"), ListStore("b", name="list"), fixed)
    assert entries.faults == {
        "profile": "'profile' cannot list its entries, so none can be edited here",
        "list": "'list' cannot edit its entries (it has no exchange and take_back)",
        "fixed": "'fixed' cannot edit its entries: it was built with writable=False",
    }
    with pytest.raises(ConfigError, match="no exchange and take_back"):
        entries.stage(delete=[("list", "e1")])
    with pytest.raises(ConfigError, match="writable=False"):
        entries.stage(add=["new"], store="fixed")


async def test_entries_of_sessions_are_edited_the_same_way(tmp_path):
    async with SQLiteStore(tmp_path / "a.db") as held:
        await held.add(MemoryEntry("s1", "m1", content="tea", message_data={"role": "user", "content": "tea", "n": 1}))
        await held.add(MemoryEntry("s1", "m2", content="milk"))
        before = await held.get_entries("s1")
        entries = entries_of(*WorkbenchState(held).source.stores)
        await entries.put(
            edit={"m1": "green tea"}, delete=["m2"], add=[{"content": "hello", "metadata": {"session_id": "s2"}}]
        )
        await entries.write()
        [entry] = await held.get_entries("s1")
        assert (entry.content, entry.message_data) == ("green tea", {"role": "user", "content": "green tea", "n": 1})
        assert [each.content for each in await held.get_entries("s2")] == ["hello"]
        await entries.undo()
        assert (await held.get_entries("s1"), await held.get_entries("s2")) == (before, [])


async def test_what_is_staged_in_a_cell_is_staged_once_also_where_a_store_has_to_be_waited_for(notes):
    class Waiting(ListStore):
        async def page(self, *args, **options):
            await asyncio.sleep(0.001)
            return await super().page(*args, **options)

        async def get(self, id):
            await asyncio.sleep(0.001)
            return await super().get(id)

    entries = entries_of(notes, Waiting("x", name="slow"), store=None)
    entries.stage(add=(text for text in ["new"]), store="notes")
    entries.stage(delete=iter(["n1"]))
    assert [change.kind for change in entries.staged] == ["added", "deleted"]


async def test_the_preview_follows_what_is_written(notes):
    state = WorkbenchState(notes, "Do I own a boat?", editable=True)
    await state.settled()
    assert "boat" not in str(state.trace.text)
    state.entries.stage(add=["I own a boat."])
    await state.entries.write()
    await state.settled()
    assert "I own a boat." in str(state.trace.text)
    state.switch(notes)
    assert state.entries.editable
    state.close()


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(str.strip)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TEXTS),
        st.tuples(st.just("edit"), st.integers(0, 5), TEXTS),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("merge"), st.integers(0, 5), st.integers(0, 5)),
        st.tuples(st.just("write")),
    ),
    max_size=8,
)


@given(st.lists(TEXTS, unique_by=str.strip, max_size=5), STEPS)
def test_staged_edits_written_and_undone_give_back_the_store_byte_for_byte(tmp_path_factory, texts, steps):
    store = file_store(tmp_path_factory.mktemp("stores"), "notes", *texts)
    before = store.path.read_bytes()

    async def run():
        entries = entries_of(store)
        for step in [*steps, ("write",)]:
            try:
                if step[0] == "write":
                    await entries.write()
                else:
                    await entries.put(**_changes(step, [record.id for record in await store.page(0, 100)]))
            except (ConfigError, DuplicateEntryError, EntryNotFoundError):
                continue
        written = store.path.read_bytes()
        while entries.undoable:
            await entries.undo()
        return written

    asyncio.run(run())
    assert store.path.read_bytes() == before


def _changes(step, ids):
    kind, *rest = step
    if kind == "add":
        return {"add": rest}
    places = [ids[at] if at < len(ids) else "none" for at in rest if isinstance(at, int)]
    return {kind: {places[0]: rest[1]}} if kind == "edit" else {kind: [places] if kind == "merge" else places}


async def test_hostile_entries_are_text_in_a_diff(tmp_path):
    hostile = "<img src=x onerror=alert(1)>\u202e $x$"
    store = file_store(tmp_path, "notes", hostile)
    entries = entries_of(store)
    html = entries.stage(edit={"n1": {"content": f"{hostile} <script>", "metadata": {"<b>": "<i>"}}})._repr_html_()
    assert ("<img" in html, "<script" in html, "<b>" in html, "<i>" in html, "\u202e" in html) == (False,) * 5


def test_a_new_entry_may_come_as_a_record(notes):
    entries = entries_of(notes)
    entries.stage(add=[Record("r", "new", metadata={"a": {"b": 1}})])
    assert "+ a.b: 1" in repr(entries.diff())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"delete": None}, "delete is None; it must be a list"),
        ({"add": 3}, "add is 3; it must be a list"),
        ({"merge": 3}, "merge is 3; it must be a list"),
        ({"merge": [3]}, "merge holds 3; it must be groups"),
        ({"edit": ["a"]}, r"edit is \['a'\]; it must be a dict"),
        ({"edit": {"a": 3}}, "an edit is 3; it must be a text, or a dict"),
        ({"add": [3]}, "a new entry is 3; it must be a text, or a dict"),
    ],
)
async def test_what_cannot_be_staged_is_told_in_words(given, said):
    store = TestMemoryStore.from_records([{"id": "a", "content": "tea"}], name="notes")
    state = WorkbenchState(store, "tea", editable=True)
    with pytest.raises(ConfigError, match=said):
        state.entries.stage(**given)
    assert state.entries.staged == ()


def test_of_many_changes_a_repr_tells_the_first_and_how_many_more(notes):
    entries = entries_of(notes)
    entries.stage(add=[f"Fact {at}" for at in range(7)])
    lines = repr(entries.staged).splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("7 changes: 7 added", 7, "- … 2 more")
    entries.unstage()
    assert repr(entries.staged) == "0 changes"
