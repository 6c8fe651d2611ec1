"""What a workbench opens on: each kind of source, each form of a conversation, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest

from memwb import datasets
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.source import open_source, read_messages
from tests.workbench.fakes import ABOUT_ME, ListStore, SearchStore, assistant, tool_call, tool_result, user


async def contents(source):
    """What each store of the source holds, by the store's name."""
    opened = open_source(source)
    stores = [opened.listings.get(store.name, store) for store in opened.stores]
    return {store.name: [record.content for record in await store.page(0, 1000)] for store in stores}


async def test_without_a_source_the_demo_opens_on_the_memories_of_one_person():
    opened = open_source()
    case = datasets.load("ikat-demo").case("2024-test/11/t4")

    assert [store.name for store in opened.stores] == ["profile"]
    assert await opened.stores[0].count() == 22
    assert (opened.messages, opened.expected, opened.injection) == (case.messages, case.expected, True)


async def test_texts_open_as_a_store_that_holds_each_of_them_once():
    assert await contents(["I like jazz.", "I use a cane.", "I like jazz."]) == {
        "texts": ["I like jazz.", "I use a cane."]
    }
    assert await contents(("I like jazz.",)) == {"texts": ["I like jazz."]}
    assert await contents([]) == {"texts": []}


async def test_a_frame_opens_as_its_column_content():
    frame = pandas.DataFrame({"content": ["I like jazz.", "I use a cane."], "mood": ["up", None]})

    assert await contents(frame) == {"frame": ["I like jazz.", "I use a cane."]}


def test_a_frame_without_contents_is_refused_with_the_columns_it_has():
    with pytest.raises(ConfigError, match=r"a DataFrame needs a column 'content'; this one has text, 1\."):
        open_source(pandas.DataFrame({"text": ["a"], 1: [2]}))


@pytest.mark.parametrize("form", [str, Path])
async def test_a_path_opens_the_file_there_and_its_name_is_the_stores(form, tmp_path):
    store = TestMemoryStore(name="x", path=str(tmp_path / "notes.json"))
    await store.add("I like jazz.")

    assert await contents(form(tmp_path / "notes.json")) == {"notes": ["I like jazz."]}


async def test_a_path_in_the_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert open_source("~/notes.json").stores[0].path == tmp_path / "notes.json"


async def test_opening_a_path_makes_no_file(tmp_path):
    assert await contents(tmp_path / "notes.json") == {"notes": []}
    assert list(tmp_path.iterdir()) == []


def test_a_store_and_a_list_of_stores_open_as_they_are():
    home, work = ListStore(name="home"), ListStore(name="work")

    assert open_source(home).stores == [home]
    assert open_source([home, work]).stores == [home, work]
    assert open_source((work, home)).stores == [work, home]


@pytest.mark.parametrize("wrap", [lambda store: store, lambda store: [store], lambda store: MemoryManager([store])])
def test_a_store_that_cannot_list_says_so(wrap):
    store = SearchStore("I like jazz.")

    opened = open_source(wrap(store))
    assert (opened.stores, opened.listings) == ([store], {})
    assert opened.notes == ("store 'profile' cannot list its entries: it is seen through its search",)


def test_a_manager_opens_with_its_stores_and_its_injection_settings():
    stores = [ListStore(name="home"), ListStore(name="work")]

    opened = open_source(MemoryManager(stores, injection={"max_entries": 2, "placement": "append"}))
    assert opened.stores == stores
    assert opened.injection == {"max_entries": 2, "trigger": "userTurn", "placement": "append"}
    assert open_source(MemoryManager(stores, injection=False)).injection is False


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (5, r"cannot open int 5\. Give an agent, a memory manager, a store or a list of stores, the path of"),
        ({"content": "x"}, r"cannot open dict"),
        (b"bytes", r"item 0 of the list is int 98; a list holds either texts or stores"),
        ([ListStore(), "text"], r"item 1 of the list is str 'text'; a list holds either texts or stores"),
        (["text", None], r"item 1 of the list is NoneType None; a list holds either texts or stores"),
        ([ListStore(name="a"), ListStore(name="a")], r"'a'"),
    ],
    ids=range(6),
)
async def test_what_is_no_source_is_refused(source, message):
    with pytest.raises(ConfigError, match=message):
        WorkbenchState(source)


async def test_a_source_is_never_changed(tmp_path):
    path = tmp_path / "notes.json"
    await TestMemoryStore(name="x", path=str(path)).add("I like jazz.")
    before = path.read_bytes()
    messages = [user("Do I like jazz?")]
    manager = MemoryManager([TestMemoryStore(name="notes", path=str(path))], injection={"max_entries": 1})

    state = WorkbenchState(manager, messages)
    await state.set(max_entries=3, query=lambda context: context.messages[0]["content"].clear() or "jazz")

    assert state.trace.injected
    assert (path.read_bytes(), messages) == (before, [user("Do I like jazz?")])
    assert manager.injection == {"max_entries": 1, "trigger": "userTurn", "placement": "prepend"}


def test_one_text_is_the_users():
    assert read_messages("Hello") == [user("Hello")]


def test_texts_take_turns_and_the_last_one_is_the_users():
    assert read_messages(["Hi", "What?", "Bye"]) == [user("Hi"), assistant("What?"), user("Bye")]
    assert read_messages(["What?", "Bye"]) == [assistant("What?"), user("Bye")]
    assert read_messages(("Bye",)) == [user("Bye")]
    assert read_messages([]) == []


def test_messages_of_other_sdks_are_read_and_so_are_their_files(tmp_path):
    told = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    assert read_messages(told) == [user("Hello")]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(told))
    assert read_messages(path) == [user("Hello")]


def test_message_dicts_are_taken_as_copies():
    given = [user("Hi"), tool_call(), tool_result(), assistant("Noon.") | {"metadata": {"tokens": 3}}]

    taken = read_messages(given)
    taken[0]["content"][0]["text"] = "changed"

    assert given[0] == user("Hi")
    assert read_messages(json.loads(json.dumps(given))) == given


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        (5, "messages must be a text, a list of texts or a list of message dicts, not 5"),
        ({"role": "user"}, "messages must be a text, a list of texts or a list of message dicts, not"),
        ([user("a"), "b"], "message 1 is str, not a dict"),
        (["a", user("b")], "message 0 is str, not a dict"),
        ([{"content": []}], "message 0 has the role None; it must be 'user' or 'assistant'"),
        ([user("a"), {"role": "robot", "content": []}], "message 1 has the role 'robot'; it must be"),
        ([{"role": "user", "content": 7}], "message 0 needs 'content': a text, or a list of blocks"),
        ([{"role": "user", "content": [7]}], r"message 0 .content\[0\]. needs 'content' as a list of blocks"),
        ([{"role": "user"}], "message 0 needs 'content': a text, or a list of blocks"),
        ([user("a"), user(7)], r"message 1 .content\[0\]. has a text block that holds int, not text"),
    ],
    ids=range(10),
)
def test_a_message_of_another_form_is_refused_with_its_place(messages, message):
    with pytest.raises(ConfigError, match=message) as caught:
        read_messages(messages)
    assert caught.value.key == "messages"


async def test_a_refused_message_is_named_when_the_workbench_is_made_and_when_it_is_set():
    with pytest.raises(ConfigError, match="message 0"):
        WorkbenchState(list(ABOUT_ME), [{"role": "user"}])
    state = WorkbenchState(list(ABOUT_ME), "What do I use?")
    with pytest.raises(ConfigError, match="message 0"):
        state.put(messages=[{"role": "user"}])
    assert state.messages == [user("What do I use?")]


def test_a_list_of_files_is_not_taken_for_texts():
    with pytest.raises(
        ConfigError, match=r"'a\.json', which looks like a file.*TestMemoryStore\(name='a', path='a\.json'\)"
    ):
        open_source(["a.json", "b.json"])
    assert [store.name for store in open_source(["a.json", "is where I keep it"]).stores] == ["texts"]
