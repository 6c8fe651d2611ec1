"""SessionSearch: what was said in sessions is found as long-term memory is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.evaluation import Case, evaluate
from memwb.memory import MemoryEntry, MemoryManager
from memwb.ranking import rank, tokenize, tokenize_any_script
from memwb.sessions import FileStore, InMemoryStore, Memory, SQLiteStore
from memwb.sessions import MemoryEntry as SessionEntry
from memwb.stores import Listable, SessionSearch, TestMemoryStore
from memwb.testing import MemoryStoreContract
from tests.sessions.fakes import PlainStore, talk


class TestContract(MemoryStoreContract):
    """What a read-only store must do; what is added is an entry of a session."""

    @pytest.fixture
    def store(self):
        return SessionSearch(InMemoryStore(), name="past")

    async def add(self, store, content, metadata=None):
        if not isinstance(metadata, dict | None) or not content.strip():
            pytest.skip("entries of sessions may be blank, and what they hold besides is a message")
        sessions = store._catalog.store
        if any(entry.content == content for entry in await sessions.get_entries("s")):
            pytest.skip("what is said twice was said twice")
        await sessions.add(SessionEntry("s", content=content, message_data=metadata))


def entry(id, content, at=0.0, session="s1", user="ann", **rest):
    return SessionEntry(session, id, user, content=content, created_at=at, updated_at=at, **rest)


async def searching(*entries, **settings):
    store = InMemoryStore()
    await store.add_many(entries)
    return store, SessionSearch(store, **settings)


def ids(found):
    return [each.id for each in found]


async def test_what_was_found_says_who_said_it_in_which_session():
    calls = {"role": "assistant", "content": "green tea", "tool_calls": [{"id": "k"}]}
    _, past = await searching(entry("a", "green tea", role="assistant", message_data=calls))

    (found,) = await past.search("Tea?")
    assert found == MemoryEntry(
        "green tea",
        metadata={
            "tool_calls": [{"id": "k"}],
            "session_id": "s1",
            "role": "assistant",
            "user_id": "ann",
            "_relevanceScore": 1,
        },
    )
    assert found.id == "a"


async def test_more_shared_words_come_first_then_the_most_recent_of_any_session():
    _, past = await searching(
        entry("old", "green tea", 1.0),
        entry("two", "green tea in the morning", 2.0),
        entry("new", "black tea", 9.0),
        entry("other", "tea", 5.0, session="s0", user="bob"),
    )

    assert ids(await past.search("green tea morning")) == ["two", "old", "new", "other"]
    assert ids(await past.search("green tea morning", {"max_search_results": 2})) == ["two", "old"]
    assert await past.count_matches("green tea morning") == 4
    assert (await past.search("?!"), await past.count_matches("?!")) == ([], 0)


async def test_one_user_or_one_session_alone_is_searched_and_listed():
    entries = (entry("a", "tea"), entry("b", "tea", user="bob"), entry("c", "tea", session="s2"))

    for settings, expected in (
        ({}, {"a", "b", "c"}),
        ({"user_id": "ann"}, {"a", "c"}),
        ({"session_id": "s1"}, {"a", "b"}),
        ({"session_id": "s1", "user_id": "bob"}, {"b"}),
    ):
        _, past = await searching(*entries, **settings)
        assert set(ids(await past.search("tea"))) == set(ids(await past.page(0, 9))) == expected
        assert await past.count() == len(expected)
    assert isinstance(past, Listable)
    assert await past.get("a") is None


async def test_each_search_sees_what_was_written_changed_and_removed_meanwhile():
    store, past = await searching(entry("a", "green tea", 1.0), entry("b", "black tea", 2.0))
    assert ids(await past.search("tea")) == ["b", "a"]

    await store.add(entry("c", "white tea", 3.0))
    assert ids(await past.search("tea")) == ["c", "b", "a"]
    await store.update(replace(await store.get_entry("c"), content="coffee"))
    assert (ids(await past.search("tea")), ids(await past.search("coffee"))) == (["b", "a"], ["c"])
    await store.add(entry("d", "older tea", 1.5))
    assert ids(await past.search("tea")) == ["b", "d", "a"]
    await store.delete("b")
    assert ids(await past.search("tea")) == ["d", "a"]
    await store.delete_session("s1", None)
    assert await past.search("tea") == []


@pytest.mark.parametrize("kind", ["in memory", "SQLite", "files"])
@pytest.mark.parametrize("session", [None, "s1"])
async def test_what_anybody_writes_between_two_searches_is_found_in_every_store(kind, session, tmp_path):
    open = {
        "in memory": lambda: InMemoryStore(),
        "SQLite": lambda: SQLiteStore(tmp_path / "memory.db"),
        "files": lambda: FileStore(tmp_path),
    }[kind]
    store = open()
    other = store if kind == "in memory" else open()
    past = SessionSearch(store, session)

    for number in range(3):
        for name, writer in (("own", store), ("other", other)):
            await writer.add(entry(f"{number} {name}", "tea", float(number)))
            assert len(await past.search("tea", {"max_search_results": 99})) == await past.count()
    await other.update(replace((await other.get_entries("s1", "ann"))[0], content="coffee"))
    assert (len(await past.search("coffee")), await past.count(where="coffee")) == (1, 1)
    await other.replace_session("s1", "ann", [])
    assert (await past.search("tea"), await past.count()) == ([], 0)
    await other.close()
    await store.close()
    await store.add(entry("again", "tea"))
    assert ids(await past.search("tea")) == ["again"]
    await store.close()


async def test_sessions_that_have_not_changed_are_not_read_again(tmp_path, monkeypatch):
    store = SQLiteStore(tmp_path / "memory.db")
    await store.add_many([entry("a", "green tea", 1.0), entry("b", "black tea", 2.0)])
    past = SessionSearch(store)
    await past.search("tea")

    async def unread(*_):
        raise AssertionError("the entries were read again")

    monkeypatch.setattr(store, "get_entries", unread)
    for _ in range(2):
        assert ids(await past.search("black tea")) == ["b", "a"]
        assert [record.id for record in await past.page(0, 9, where="green")] == ["a"]
        assert await past.count() == 2
    await store.close()


async def test_what_a_caller_does_to_a_result_changes_none_that_comes_later():
    data = {"tool_calls": [{"id": "k"}]}
    _, past = await searching(entry("a", "tea", message_data=data))

    for _ in range(2):
        (found,), (record,) = await past.search("tea"), await past.page(0, 9)
        assert found.metadata["tool_calls"] == record.metadata["tool_calls"] == [{"id": "k"}]
        found.metadata["tool_calls"][0]["id"] = record.metadata["tool_calls"][0]["id"] = "changed"


async def test_a_text_is_cut_into_words_once():
    words = Counter()

    def counting(text):
        words[text] += 1
        return tokenize(text)

    store, past = await searching(entry("a", "green tea", 1.0), entry("b", "black tea", 2.0), tokenizer=counting)
    for _ in range(3):
        await past.search("tea")
    await store.add(entry("c", "white tea", 3.0))
    for _ in range(3):
        await past.search("tea")
    assert words == {"tea": 6, "green tea": 1, "black tea": 1, "white tea": 1}


@given(
    st.lists(
        st.tuples(st.sampled_from(["tea", "green tea", "black", "tea black green", ""]), st.integers(0, 3)), max_size=9
    ),
    st.integers(1, 5),
)
async def test_it_ranks_as_documented(texts, limit):
    entries = [entry(f"e{at}", content, float(time)) for at, (content, time) in enumerate(texts)]
    _, past = await searching(*entries)

    by_time = sorted(entries, key=lambda each: each.created_at)
    documents = [(tokenize(each.content), f"{place:04}") for place, each in enumerate(by_time)]
    expected = [by_time[place].memory_id for place, _ in rank({"green", "tea"}, documents)]
    assert ids(await past.search("green tea", {"max_search_results": limit})) == expected[:limit]


async def test_text_without_spaces_is_found_with_another_tokenizer():
    entries = [entry("a", "私は緑茶が好きです")]
    _, by_words = await searching(*entries)
    _, by_any = await searching(*entries, tokenizer=tokenize_any_script)

    assert await by_words.search("緑茶") == []
    assert ids(await by_any.search("緑茶")) == ["a"]


async def test_a_manager_injects_from_sessions_beside_other_stores():
    memory = Memory()
    await memory.add({"role": "user", "content": "I walk with a cane."}, "monday", "ann")
    notes = TestMemoryStore.from_records(["I like jazz."], name="notes")
    manager = MemoryManager([notes, SessionSearch(memory.store, user_id="ann", name="past")])

    text = (await manager.trace_injection([{"role": "user", "content": [{"text": "Do I walk well?"}]}])).text
    assert text == (
        '<memory>\n<entry source="notes">I like jazz.</entry>\n'
        '<entry source="past">I walk with a cane.</entry>\n</memory>'
    )
    assert [tool.name for tool in manager.tools] == ["search_memory"]


async def test_a_store_of_anybodys_is_searched_by_session():
    store = PlainStore()
    await talk(Memory(store), 3)

    assert [found.content for found in await SessionSearch(store, "s", "u").search("m2")] == ["m2"]
    with pytest.raises(ConfigError, match="PlainStore cannot list its sessions"):
        SessionSearch(store)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"max_search_results": 0}, "max_search_results"),
        ({"name": " "}, "name"),
        ({"name": None}, "name"),
        ({"session_id": 5}, "session_id"),
        ({"user_id": ""}, "user_id"),
        ({"tokenizer": 5}, "tokenizer"),
    ],
)
def test_a_setting_of_a_wrong_value_is_refused(settings, key):
    with pytest.raises(ConfigError, match=f"SessionSearch: {key}") as caught:
        SessionSearch(InMemoryStore(), **settings)
    assert caught.value.key == key


async def test_what_is_no_store_or_no_query_is_refused():
    with pytest.raises(ConfigError, match="TestMemoryStore is no store of sessions"):
        SessionSearch(TestMemoryStore(name="notes", persist=False))
    with pytest.raises(ConfigError, match=r'type is no store of sessions; .* such as SQLiteStore\("memory.db"\)'):
        SessionSearch(SQLiteStore)
    past = SessionSearch(InMemoryStore(), user_id="ann")
    with pytest.raises(ConfigError, match="query must be a text, not 3"):
        await past.search(3)
    with pytest.raises(ConfigError, match="limit"):
        await past.search("tea", {"limit": 3})
    assert repr(past) == "SessionSearch('sessions' over SessionCatalog(InMemoryStore, user 'ann'))"


async def test_a_memory_is_searched_as_its_store():
    memory = Memory()
    await memory.add({"role": "user", "content": "I like tea."})
    assert [each.content for each in await SessionSearch(memory).search("tea")] == ["I like tea."]


async def test_what_was_said_is_evaluated_like_any_other_memory():
    _, past = await searching(entry("a", "I walk with a cane.", 1.0), entry("b", "I like jazz.", 2.0))
    messages = [{"role": "user", "content": [{"text": "Do I walk with a cane?"}]}]

    report = await evaluate([Case("c1", messages, expected=("a",))], {"default": {}}, stores=[past])
    assert report.to_frame()["reached"].tolist() == [1.0]
