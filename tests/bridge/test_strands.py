"""Reading memory out of a Strands agent, on objects of its shape; the real SDK is asked in the interop tests."""

from __future__ import annotations

import copy
import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memwb.bridge.strands import Reading, is_strands, listing, placement, read
from memwb.catalog import Record
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.stores import Listable, TestMemoryStore
from tests.bridge import fakes
from tests.memory.stores import BareStore, WordStore, assistant, user

RECORD = {"id": "r1", "content": "tea", "createdAt": "2026-01-02T03:04:05.678Z", "metadata": {"n": 2**70}}


@pytest.fixture(autouse=True)
def newest_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"strands-agents": "1.62.0"}[name])


@pytest.mark.parametrize(
    ("installed", "place"),
    [("1.48.0", "prepend"), ("1.53.9", "prepend"), ("1.54.0", "append"), ("1.62.0", "append"), ("2.0.0rc1", "append")],
)
def test_the_placement_is_what_the_installed_release_does(installed: str, place: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: installed)
    assert placement() == place


def fold_as_148(messages: Any, text: str) -> Any:
    return [{**messages[0], "content": [{"text": text}, *messages[0]["content"]]}]


def fold_as_162(messages: Any, text: str) -> Any:
    return [{**messages[0], "content": [*messages[0]["content"], {"text": text}]}], 1


@pytest.mark.parametrize(("fold", "place"), [(fold_as_148, "prepend"), (fold_as_162, "append")])
@pytest.mark.parametrize("version", ["0.0.0", "unknown"])
def test_an_sdk_without_a_version_is_asked_by_folding(fold: Any, place: str, version: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    module = type(sys)("strands.injection._message_injection")
    module._fold_into_last_user_message = fold  # type: ignore[attr-defined]
    for name in ("strands", "strands.injection"):
        monkeypatch.setitem(sys.modules, name, type(sys)(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert placement() == place


def test_without_an_sdk_the_placement_is_the_documented_one(monkeypatch: Any) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    for name in ("strands", "strands.injection", "strands.injection._message_injection"):
        monkeypatch.setitem(sys.modules, name, None)
    assert placement() == "prepend"


def test_an_agent_is_read_whole() -> None:
    stores = [WordStore("home", "tea"), BareStore("away")]
    messages = [user("hi"), assistant("yes")]
    config = {"max_entries": 2, "trigger": "everyTurn"}
    agent = fakes.agent(fakes.manager(*stores, injection=config), name="guide", messages=messages, state={"n": [1]})
    assert read(agent) == Reading(
        stores=tuple(stores),
        injection=config,  # type: ignore[arg-type]
        messages=messages,
        placement="append",
        label="Strands Agent 'guide'",
        notes=(),
        state={"n": [1]},
        agent=agent,
    )


def test_an_agent_without_a_name_of_its_own_is_just_an_agent() -> None:
    assert read(fakes.agent(fakes.manager())).label == "Strands Agent"


def test_a_manager_given_as_a_plugin_is_found() -> None:
    manager = fakes.manager()
    found = read(fakes.agent(None, plugins={"strands:memory-manager": manager}))
    assert found.stores == tuple(manager._stores)


def test_a_manager_is_read_without_messages() -> None:
    manager = fakes.manager(injection={"max_entries": 2})
    expected = Reading(tuple(manager._stores), {"max_entries": 2}, [], "append", "Strands MemoryManager")
    assert read(manager) == expected


@pytest.mark.parametrize(
    ("given", "injection"),
    [({}, True), ({"injection": True}, True), ({"injection": False}, False), ({"injection": None}, False),
     ({"injection": {}}, True), ({"injection": {"max_entries": 2}}, {"max_entries": 2})],
)  # fmt: skip
def test_a_managers_config_is_read_as_the_sdk_reads_it(given: Any, injection: Any) -> None:
    store = WordStore("home")
    found = read({"stores": [store], **given})
    assert (found.stores, found.injection, found.label) == ((store,), injection, "Strands MemoryManagerConfig")


def test_nothing_in_the_source_is_changed_and_the_messages_are_a_copy() -> None:
    manager = fakes.manager(injection={"max_entries": 2, "colour": "red"})
    agent = fakes.agent(manager, messages=[user("hi")], state={"n": 1})
    before = copy.deepcopy((agent.messages, agent.memory_manager._injection_config))
    found = read(agent)
    found.messages[0]["content"][0]["text"] = "changed"
    found.messages.clear()
    found.state["n"] = 2
    assert agent.state == {"n": 1}
    assert (agent.messages, agent.memory_manager._injection_config) == before


def test_an_agent_without_a_memory_manager_says_what_to_do() -> None:
    with pytest.raises(ConfigError) as caught:
        read(fakes.agent(None, name="guide"))
    assert str(caught.value) == (
        "bridge.strands: this Strands Agent 'guide' has no memory manager, so nothing is injected into its prompts. "
        "Build it with Agent(memory_manager=MemoryManager(stores=[...])), or give your stores and agent.messages."
    )
    assert caught.value.key == "source"


@pytest.mark.parametrize("source", [None, 3, "agent", {}, object(), WordStore("home"), [WordStore("home")]])
def test_anything_else_is_refused(source: Any) -> None:
    with pytest.raises(ConfigError, match=r"bridge\.strands: cannot read .* Give a Strands Agent"):
        read(source)


def test_further_handlers_before_the_model_call_are_told_of() -> None:
    assert read(fakes.agent(fakes.manager(), handlers=["input", "output"])).notes == ()
    notes = read(fakes.agent(fakes.manager(), handlers=["input", "wrap", "output"])).notes
    assert notes == (
        "the agent has 1 more handler that can change the messages before a model call; the preview shows the memory "
        "manager's part alone",
    )
    assert "2 more handlers" in read(fakes.agent(fakes.manager(injection=False), handlers=["input", "wrap"])).notes[0]


def plain(context: Any) -> str:
    return "tea"


async def an_async(context: Any) -> str:
    return "tea"


EQUIVALENT: list[tuple[dict[str, Any], Any, list[str]]] = [
    ({"max_entries": None, "trigger": None}, True, []),
    ({"trigger": plain, "query": plain, "format": plain}, {"trigger": plain, "query": plain, "format": plain}, []),
    ({"max_entires": 1}, True, ["ignores a setting: injection has no key 'max_entires'", "Did you mean 'max_entries'"]),
    ({"trigger": "user_turn"}, False, ["injects nothing", "Did you mean 'userTurn'"]),
    ({"trigger": 5}, False, ["injects nothing", "'trigger' is 5"]),
    ({"trigger": an_async}, {"trigger": "everyTurn"}, ["injects at every turn", "async function 'an_async'"]),
    ({"query": an_async}, False, ["injects nothing", "async function 'an_async'"]),
    ({"query": "tea"}, False, ["injects nothing", "'query' is 'tea'"]),
    ({"format": an_async}, False, ["breaks off its call", "async function 'an_async'"]),
    ({"format": 5}, False, ["injects nothing", "'format' is 5"]),
    ({"max_entries": 0}, False, ["injects nothing", "'max_entries' is 0"]),
    ({"max_entries": -1}, False, ["injects nothing", "'max_entries' is -1"]),
    ({"max_entries": "5"}, False, ["injects nothing", "'max_entries' is '5'"]),
    ({"max_entries": True}, {"max_entries": 1}, []),
    ({"placement": "append"}, True, []),
    ({"placement": "prepend", "max_entries": 2}, {"max_entries": 2}, ["ignores the placement 'prepend'", "'append'"]),
]


@pytest.mark.parametrize(("config", "injection", "words"), EQUIVALENT, ids=[str(config) for config, _, _ in EQUIVALENT])
def test_b71_what_the_sdk_ignores_or_breaks_on_is_read_as_what_it_does(config: Any, injection: Any, words: Any) -> None:
    found = read(fakes.manager(injection=config))
    assert found.injection == injection
    assert len(found.notes) == bool(words)
    assert [word for word in words if word not in found.notes[0]] == []
    MemoryManager([WordStore("home")], injection=found.injection)  # it is one that memwb takes


@pytest.mark.parametrize(("installed", "told"), [("1.53.0", 0), ("1.54.0", 1), ("1.58.1", 1), ("1.59.0", 0)])
def test_releases_that_write_the_block_in_another_way_are_told_of(installed: str, told: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: installed)
    assert len(read(fakes.manager()).notes) == told
    assert read(fakes.manager(injection=False)).notes == ()


def test_a_single_setting_is_told_as_that_of_the_agent() -> None:
    assert read(fakes.manager(injection={"max_entry": 1})).notes == (
        "the agent ignores a setting: injection has no key 'max_entry'; the keys are max_entries, trigger, query, "
        "format, placement. Did you mean 'max_entries'?",
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (fakes.store_of_148("home"), True),
        (fakes.store_of_162("home"), True),
        ({"stores": []}, True),
        ({}, False),
        (WordStore("home"), False),
        (TestMemoryStore(name="home", persist=False), False),
        (MemoryManager([WordStore("home")]), False),
        ("strands", False),
        (None, False),
    ],
)
def test_what_belongs_to_the_sdk_is_told_by_its_class(value: Any, expected: bool) -> None:
    assert is_strands(value) is expected


def written(tmp_path: Path) -> Path:
    path = tmp_path / "home.json"
    path.write_text(json.dumps([RECORD]), encoding="utf-8")
    return path


async def listed(store: Any) -> list[Record]:
    view = listing(store)
    assert isinstance(view, Listable)
    assert await view.count() == len(await view.page(0, 100))
    return await view.page(0, 100)


@pytest.mark.parametrize("shape", ["148", "162"])
async def test_a_store_on_a_file_is_listed_from_it_and_cannot_be_written(shape: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    store = fakes.store_of_148("home", path) if shape == "148" else fakes.store_of_162("home", tmp_path, path.name)
    view = listing(store)
    assert isinstance(view, TestMemoryStore)
    assert (view.path, view.writable, view.name) == (path, False, "home")
    assert [(record.id, record.content, record.metadata) for record in await view.page(0, 9)] == [
        ("r1", "tea", {"n": 2**70})
    ]
    with pytest.raises(ConfigError, match="not writable"):
        await view.add("milk")
    assert json.loads(path.read_text(encoding="utf-8")) == [RECORD]


@pytest.mark.parametrize("shape", ["148", "162"])
async def test_a_tilde_in_the_sdks_path_is_a_folders_name(shape: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~").mkdir()
    written(tmp_path / "~")
    store = (
        fakes.store_of_148("home", Path("~/home.json"))
        if shape == "148"
        else fakes.store_of_162("home", "~", "home.json")
    )
    assert [record.content for record in await listed(store)] == ["tea"]


@pytest.mark.parametrize("shape", ["148", "162"])
async def test_a_store_in_memory_is_listed_as_it_is_by_then(shape: str) -> None:
    data = json.dumps([RECORD]).encode()
    if shape == "148":
        store = fakes.store_of_148("home", records=[RECORD])
        store._records = [*store._records, {**RECORD, "id": "r2", "content": "milk"}]
    else:
        store = fakes.store_of_162("home", key="home.json", data=data)
        store._storage._store["home.json"] = json.dumps([RECORD, {**RECORD, "id": "r2", "content": "milk"}]).encode()
    view = listing(store)
    assert view is not None
    assert repr(view) == "TestMemoryStore('home', persist=False, read-only)"
    assert [record.content for record in await view.page(0, 9)] == ["tea", "milk"]
    assert [record.metadata for record in await view.page(0, 9, None, "TEA")] == [{"n": 2**70}]
    assert (await view.count(), await view.count("milk")) == (2, 1)
    assert [record and record.content for record in (await view.get("r2"), await view.get("r3"))] == ["milk", None]
    assert not hasattr(view, "add")


@pytest.mark.parametrize("store", [fakes.store_of_148("new"), fakes.store_of_162("new", key="new.json")])
async def test_a_store_that_was_never_used_is_listed_as_empty(store: Any) -> None:
    assert await listed(store) == []


@pytest.mark.parametrize("store", [BareStore("home"), TestMemoryStore(name="home", persist=False)])
def test_other_stores_have_no_listing(store: Any) -> None:
    assert listing(store) is None


def test_b35_stores_of_the_sdk_that_share_a_file_are_told_of(tmp_path: Path) -> None:
    stores = [
        fakes.store_of_162("a/b", tmp_path, "a_b.json"),
        fakes.store_of_162("a_b", tmp_path, "a_b.json"),
        fakes.store_of_162("other", tmp_path, "other.json"),
    ]
    assert read(fakes.manager(*stores)).notes == (
        f"the stores 'a/b' and 'a_b' share the file {tmp_path.resolve() / 'a_b.json'}: each finds what the other holds",
    )


def test_reading_imports_no_sdk() -> None:
    code = (
        "import sys; from memwb.bridge import strands; from tests.bridge import fakes; "
        "strands.read(fakes.agent(fakes.manager())); strands.listing(fakes.store_of_148('home')); "
        "print('strands' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout == "False\n"
