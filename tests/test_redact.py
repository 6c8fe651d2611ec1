"""With `memwb.options(redact=True)` no text of a memory leaves the live page, by whatever door."""

from __future__ import annotations

import pytest

import memwb
from memwb.errors import ConfigError
from memwb.memory import MemoryEntry
from memwb.testing import ReplayAgent, ScriptedModel
from memwb.workbench.still import still

SECRET = "Zanzibar cane quokka"
WORDS = ("zanzibar", "quokka", "okapi", "flamingo")
TALK = [{"role": "user", "content": [{"text": "Do I use a cane?"}]}]


@pytest.fixture(autouse=True)
def as_before():
    yield
    memwb.options(stills=True, redact=None)


async def shown(folder):
    """One of each thing that shows memory in a cell, made while nothing is masked."""
    store = memwb.TestMemoryStore(name="notes", path=folder / "notes.json")
    await store.add(SECRET, {"said": "okapi"})
    await store.add("I like the flamingo cane.")
    bench = await memwb.Workbench(store, TALK, injection={"max_entries": 1}, expected=[SECRET], editable=True)
    trace = bench.trace
    things = [bench, bench.still(), trace, *trace.stages, *trace.hits, *bench.state.hits, *trace.notes]
    for target in ("Zanzibar", "flamingo", "cane"):
        about = await bench.why(target)
        things += [about, *about.suggestions]
    records = await store.page(0, 9)
    things += [*records, *await store.search("cane"), MemoryEntry(SECRET, metadata={"by": ["okapi"]})]
    diff = bench.entries.stage(edit={records[0].id: "An okapi."}, delete=[records[1].id], store="notes")
    things += [diff, *diff.changes]
    bench.pin("one")
    await bench.set(max_entries=5)
    found = await bench.compare(placements=True)
    things += [found, *found.calls, *found.calls[0].differences, *found.calls[0].outcomes]
    things += [(await bench.timeline()).timeline, *bench.arms.values(), bench.entries]
    return bench, things + await extracted(folder) + await sessions_and_damage(folder)


async def sessions_and_damage(folder):
    entry = memwb.sessions.MemoryEntry("s", "m", "default", "user", SECRET, {"said": ["okapi"]}, 1.0, 1.0)
    store = memwb.sessions.InMemoryStore()
    await store.add(entry)
    memory = memwb.sessions.Memory(store)
    damaged = folder / "damaged.json"
    damaged.write_text('[{"id": "1", "content": "Zanzibar"}, {"id": "1", "content": "quokka"}, flamingo]')
    health = await memwb.Workbench(str(damaged), "cane").entries.health()
    unescaped = {"format": lambda context: f"<m>{context.entries[0].content}</m>"}
    raw = await memwb.Workbench([f"{SECRET} <"], "cane", injection=unescaped)
    return [entry, *await memory.get_context_messages("s"), store, memory, health, *health.findings, raw.block]


async def extracted(folder):
    store = memwb.TestMemoryStore(name="facts", path=folder / "facts.json", extraction=True)
    manager = memwb.MemoryManager([store])
    model = ScriptedModel([[{"content": SECRET}]])
    await ReplayAgent([{"role": "user", "content": [{"text": SECRET}]}], manager, aux_model=model).run()
    await manager.flush()
    return [manager, manager.extraction_log, *manager.extraction_log]


def forms(thing):
    """Everything that a cell or a print shows of a thing."""
    yield repr(thing)
    yield str(thing)
    if hasattr(thing, "_repr_html_"):
        yield thing._repr_html_() or ""
    if hasattr(thing, "_repr_mimebundle_"):
        yield from (value for value in thing._repr_mimebundle_().values() if isinstance(value, str))


def leaks(things):
    return [
        (type(thing).__name__, form[:300])
        for thing in things
        for form in forms(thing)
        if any(word in form.lower() for word in WORDS)
    ]


async def test_no_repr_html_form_or_still_shows_a_word_of_memory(tmp_path):
    bench, things = await shown(tmp_path)
    assert len({kind for kind, _ in leaks(things)}) > 10  # so it is there to be masked
    memwb.options(redact=True)
    things = [thing for thing in things if type(thing).__name__ != "Still"]  # made before: a page as it was
    assert leaks([*things, still(bench.state)]) == []
    bench.close()


async def test_a_function_of_ones_own_masks_in_the_same_places(tmp_path):
    bench, things = await shown(tmp_path)
    memwb.options(redact=lambda text: "gone")
    things = [thing for thing in things if type(thing).__name__ != "Still"]
    assert leaks([*things, still(bench.state)]) == []
    bench.close()


async def test_exports_hold_no_memory_a_snapshot_is_masked_and_an_export_with_its_test_is_refused(tmp_path):
    bench, _ = await shown(tmp_path)
    memwb.options(redact=True)
    folder = await memwb.snapshot(bench, tmp_path / "kept")
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file()).lower()
    assert [word for word in WORDS if word.encode() in held] == []
    with pytest.raises(ConfigError, match="masked snapshot"):
        bench.export(tmp_path / "agent_memory.py")
    assert not (tmp_path / "agent_memory.py").exists()
    bench.close()


async def test_the_live_page_and_the_data_show_memory_as_it_is(tmp_path):
    bench, _ = await shown(tmp_path)
    memwb.options(redact=True)
    await bench.set(max_entries=4)
    assert SECRET in bench.trace.text
    assert SECRET in str(bench._low.tree)
    bench.close()
