"""Arguments of a wrong type at the public face: the sentence names the argument, what was given and what is taken."""

from __future__ import annotations

import pytest

import memwb
from memwb.errors import ConfigError, MemwbError, StoreNotFoundError
from memwb.memory import MemoryManager
from memwb.stores import TestMemoryStore


def store():
    return TestMemoryStore.from_records(["Tea is green."], name="notes")


def manager(**settings):
    return MemoryManager([store()], **settings)


@pytest.mark.parametrize(
    ("call", "key", "told"),
    [
        (lambda: store().search("a", 5), "options", "options must be a dict (it may have 'max_search_results')"),
        (lambda: store().search("a", ["x"]), "options", "not ['x']"),
        (lambda: store().search(None), "query", "query must be a text, not None"),
        (lambda: store().get([]), "id", "id must be a text, not list []"),
        (lambda: store().get(None), "id", "id must be a text, not NoneType None"),
        (lambda: store().add_many(None), "items", "items must be a list of texts or dicts, not None"),
        (lambda: store().add_many(5), "items", "items must be a list of texts or dicts, not 5"),
        (lambda: manager().search("a", 5), "options", "(it may have 'max_search_results' and 'stores') or None, not 5"),
        (lambda: manager().search(None), "query", "query must be a text, not None"),
        (lambda: manager().search("a", {"stores": 5}), "stores", "stores must be a list of names, not 5"),
        (lambda: manager().add("a", 5), "options", "(it may have 'stores' and 'metadata') or None, not 5"),
        (lambda: manager().add("a", {"stores": 5}), "stores", "stores must be a list of names, not 5"),
        (lambda: manager().inject(None), "messages", "messages must be a list of messages"),
        (lambda: manager().trace_injection("hello"), "messages", "not 'hello'"),
        (lambda: manager().why("tea", 5), "messages", "messages must be a list of messages"),
        (lambda: manager().why(None, []), "target", "its id, or a text that it holds, not None"),
        (lambda: memwb.frame(5), "store", "cannot list its entries"),
    ],
)
async def test_a_call_says_what_it_takes(call, key, told):
    with pytest.raises(ConfigError) as caught:
        await call()
    assert told in str(caught.value)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("call", "key", "told"),
    [
        (lambda: TestMemoryStore.from_records(5, name="n"), "items", "items must be a list of texts or dicts, not 5"),
        (lambda: TestMemoryStore.from_records(None, name="n"), "items", "must be a list of texts or dicts, not None"),
        (lambda: manager(add_tool_config={"stores": 5}), "stores", "stores must be a list of names, not 5"),
        (lambda: manager(add_tool_config={"stores": "notes"}), "stores", "write ['notes']"),
        (lambda: manager(add_tool_config={"wait_for_writes": "no"}), "wait_for_writes", "must be True or False"),
        (lambda: manager(search_tool_config={"name": 5}), "name", "key 'name' must be a text, not 5"),
        (lambda: manager(search_tool_config={"description": []}), "description", "must be a text, not []"),
    ],
)
def test_what_is_made_says_what_it_is_made_of(call, key, told):
    with pytest.raises(ConfigError) as caught:
        call()
    assert told in str(caught.value)
    assert caught.value.key == key


@pytest.mark.parametrize("name", [5, [], None, "note"])
async def test_a_store_that_is_named_by_anything_but_its_name_is_not_found(name):
    with pytest.raises(StoreNotFoundError) as caught:
        await manager().search("a", {"stores": [name]})
    assert (caught.value.name, caught.value.known) == (name, ("notes",))


@pytest.mark.parametrize(
    ("given", "key", "told"),
    [
        ({"stores": 5}, "stores", "a function of the owner, not 5"),
        ({"stores": "notes"}, "stores", "a function of the owner, not 'notes'"),
        ({"stores": [5]}, None, "int is no memory store"),
        ({"k": 5}, "k", "k must be a list of cut-offs, such as k=(1, 5), not 5"),
        ({"k": "5"}, "k", "not '5'"),
        ({"settings": 5}, "settings", "settings must be a dict"),
        ({"cases": 5}, None, "5"),
    ],
)
async def test_an_evaluation_says_what_it_takes(given, key, told):
    arguments = {"cases": memwb.datasets.load("ikat-demo"), "settings": {"default": {}}, "stores": [store()], **given}

    with pytest.raises(MemwbError) as caught:
        await memwb.evaluate(**arguments)
    assert told in str(caught.value)
    assert key is None or caught.value.key == key
