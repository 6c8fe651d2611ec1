"""Sessions without a screen: which there are, one of them read and filtered, its context, and its summary."""

from __future__ import annotations

import asyncio

import pytest

from memwb.errors import ConfigError, SummaryError
from memwb.sessions import FileStore, InMemoryStore, Memory, MemoryEntry
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.session_rows import SessionRows
from memwb.workbench.sessions import PAGE_SIZE, SessionsState
from tests.sessions.fakes import PlainStore, SmallModel, said, talk


def entry(session, user, at=0.0, content="tea", **rest):
    return MemoryEntry(session, user_id=user, content=content, created_at=at, updated_at=at, **rest)


@pytest.fixture
async def opened():
    """Makes a settled state over a store, and closes it at the end."""
    made = []

    async def open(store, *args, **settings):
        made.append(SessionsState(store, *args, **settings))
        await made[-1].settled()
        return made[-1]

    yield open
    for state in made:
        state.close()


@pytest.fixture
async def talked():
    """A store with one session of 14 messages of u, and one of 3 of v."""
    store = InMemoryStore()
    memory = Memory(store)
    await talk(memory, 14, "monday", "u")
    await talk(memory, 3, "tuesday", "v")
    return store


# -- the table -----------------------------------------------------------------------------------------------------


async def test_one_users_session_is_found_among_thousands(opened):
    store = InMemoryStore()
    await store.add_many([entry(f"s{n:04}", f"user-{n % 700}", float(n)) for n in range(3000)])
    state = await opened(store)
    assert repr(state) == "Sessions(3,000 sessions of 700 users)"

    rows = state.rows
    assert await rows.count("USER-42\x00") == 0
    assert await rows.count("user-42") == 45  # five of user-42, four of each of user-420 to user-429
    found = await rows.page(0, 3, sort="-last", where="user-422")
    assert [(row.info.session_id, row.info.user_id) for row in found] == [
        ("s2522", "user-422"),
        ("s1822", "user-422"),
        ("s1122", "user-422"),
    ]
    assert await rows.get(found[0].id) == found[0]
    assert await state.read("s2522") == await store.get_entries("s2522", "user-422")
    assert repr(state) == "Sessions(3,000 sessions of 700 users; 's2522' of 'user-422': 1 entry)"


async def test_sessions_are_sorted_by_each_of_their_columns():
    store = InMemoryStore()
    await store.add_many(
        [entry("b", "ann", 1.0), entry("b", "ann", 9.0), entry("a", "cid", 2.0), entry("c", "bob", 3.0)]
    )
    rows = SessionRows(store)

    for sort, order in {
        None: "abc",
        "-session_id": "cba",
        "user_id": "bca",
        "-count": "bac",
        "first": "bac",
        "-last": "bca",
    }.items():
        assert "".join(row.info.session_id for row in await rows.page(0, 9, sort=sort)) == order
    await store.add(entry("d", "dan", 4.0))
    assert len(await rows.page(0, 9)) == 3  # a page shows what was counted
    assert (await rows.count(), len(await rows.page(3, 9))) == (4, 1)


async def test_ids_that_look_alike_are_sessions_of_their_own(opened):
    store = InMemoryStore()
    ids = [("a:b", "c"), ("a", "b:c"), ('a", "b', "c"), ("a", 'b", "c'), ("../x", "\x00"), ("<b>", "$x$")]
    await store.add_many([entry(session, user) for session, user in ids])
    state = await opened(store)

    rows = await state.rows.page(0, 99)
    assert len({row.id for row in rows}) == len(ids)
    for session, user in ids:
        assert [each.session_id for each in await state.read(session, user)] == [session]


async def test_the_sessions_are_a_frame(opened, talked):
    state = await opened(talked)

    assert list(state.frame["session_id"]) == ["monday", "tuesday"]
    assert list(state.frame["count"]) == [14, 3]


# -- one session ---------------------------------------------------------------------------------------------------


async def test_a_session_opens_at_its_last_page_and_is_paged_through(opened):
    store = InMemoryStore()
    await talk(Memory(store), 2 * PAGE_SIZE + 7)
    state = await opened(store)

    await state.read("s")
    assert (state.page, state.pages, [each.content for each in state.shown]) == (
        2,
        3,
        [f"m{n}" for n in range(2 * PAGE_SIZE + 1, 2 * PAGE_SIZE + 8)],
    )
    assert len(await state.filter(page=0)) == PAGE_SIZE
    await state.filter(page=99)
    assert state.page == 2


async def test_a_session_is_filtered_by_text_and_role(opened, talked):
    state = await opened(talked)
    await state.read("monday")
    assert state.roles == {"user": 7, "assistant": 7}

    assert [each.content for each in await state.filter(where="M1")] == ["m1", "m10", "m11", "m12", "m13", "m14"]
    assert said(await state.filter(role="user")) == ["user: m1", "user: m11", "user: m13"]
    assert repr(state) == "Sessions(2 sessions of 2 users; 'monday' of 'u': 3 of 14 entries)"
    assert list(state.entries_frame["content"]) == ["m1", "m11", "m13"]
    assert len(await state.filter(where="", role="")) == 14
    assert await state.filter(where="x") == []
    await state.read("tuesday")
    assert (state.where, state.role, len(state.shown)) == ("", "", 3)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"wher": "x"}, r"unknown filter 'wher'; .* Did you mean 'where'\?"),
        ({"where": 3}, "where is 3; it must be a text"),
        ({"page": "1"}, "page is '1'; it must be a whole number"),
        ({"role": "tool"}, "no entry has the role 'tool'; there are user, assistant"),
    ],
)
async def test_a_filter_that_there_is_not_is_refused(opened, talked, changes, told):
    state = await opened(talked)
    await state.read("monday")

    with pytest.raises(ConfigError, match=told):
        await state.filter(**changes)
    assert len(state.shown) == 14


async def test_a_session_that_there_is_not_is_refused_with_the_nearest(opened, talked):
    state = await opened(talked)
    await talk(Memory(talked), 1, "monday", "v")
    state.changed()

    for ids, told in (
        (("mondy",), r"there is no session 'mondy' among 3\. Did you mean 'monday'\?"),
        (("monday",), "'monday' is a session of 'u', 'v'; give user_id"),
        (("tuesday", "u"), "user 'u' has no session 'tuesday'"),
    ):
        with pytest.raises(ConfigError, match=told):
            await state.read(*ids)
    assert state.chosen is None


async def test_the_context_is_what_the_memory_gives_a_model(opened, talked):
    memory = Memory(talked, SmallModel("They <talked>."))
    await memory.apply_summary(await memory.preview_summary("monday", "u"))
    state = await opened(talked)

    await state.read("monday")
    assert state.context == await memory.get_context_messages("monday", "u")
    assert "&lt;talked&gt;" in state.context[2].content


async def test_what_others_write_shows_after_a_refresh(opened, talked):
    state = await opened(talked)
    await state.read("tuesday")

    await talk(Memory(talked), 1, "tuesday", "v", start=4)
    await talked.add(entry("wednesday", "w"))
    state.changed()
    await state.settled()
    assert (len(state.sessions), [each.content for each in state.entries]) == (3, ["m1", "m2", "m3", "m4"])
    await talked.delete_session("tuesday", "v")
    state.changed()
    await state.settled()
    assert (state.chosen, state.entries) == (None, [])


async def test_a_session_becomes_the_conversation_of_the_workbench(opened, talked):
    bench = WorkbenchState(talked)
    state = await opened(talked, bench=bench)

    await state.read("tuesday")
    await state.to_workbench()
    assert [message["content"] for message in bench.messages] == [[{"text": f"m{n}"}] for n in (1, 2, 3)]
    assert bench.trace.query == "m3"
    bench.close()
    with pytest.raises(ConfigError, match=r"this panel belongs to no workbench"):
        await (await opened(talked)).to_workbench()


# -- the summary ---------------------------------------------------------------------------------------------------


async def test_a_summary_is_previewed_applied_and_taken_back(opened, talked):
    state = await opened(talked, SmallModel("They talked."))
    before = await state.read("monday")

    preview = await state.preview_summary()
    assert (state.preview, repr(preview)) == (preview, "SummaryPreview(2 pinned, 7 replaced, 5 kept; tokens 8 -> 7)")
    assert await talked.get_entries("monday", "u") == before
    assert not state.undoable

    written = await state.apply()
    assert (written.content, state.preview, state.undoable) == ("They talked.", None, True)
    assert said(state.entries)[2] == "summary: They talked."
    assert len(await state.undo()) == 7
    assert (state.entries, state.undoable) == (before, False)
    assert await talked.get_entries("monday", "u") == before


async def test_settings_of_the_summary_are_tried_without_a_model(opened, talked):
    state = await opened(talked)
    await state.read("monday")

    await state.set(pin_count=0, recent_count=2)
    preview = await state.plan_summary()
    assert [len(part) for part in (preview.pinned, preview.replaced, preview.kept)] == [0, 12, 2]
    await state.set(pin_count=4)
    assert state.preview is None
    assert (await state.write_summary("  By hand. ")).answer == "By hand."
    await state.apply()
    assert said(state.entries)[4] == "summary: By hand."
    with pytest.raises(ConfigError, match="a summary must not be blank"):
        await state.write_summary(" ")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pin_cuont": 1}, r"unknown setting 'pin_cuont'; .* Did you mean 'pin_count'\?"),
        ({"pin_count": -1}, "pin_count is -1"),
        ({"recent_count": "x"}, "recent_count is 'x'"),
    ],
)
async def test_a_setting_that_there_is_not_is_refused(opened, talked, changes, told):
    with pytest.raises(ConfigError, match=told):
        await opened(talked, **changes)
    state = await opened(talked)
    with pytest.raises(ConfigError, match=told):
        await state.set(**changes)
    assert (state.memory.pin_count, state.memory.recent_count) == (2, 5)


async def test_a_memory_brings_its_model_and_its_settings(opened, talked):
    state = await opened(Memory(talked, SmallModel("Short."), pin_count=1, recent_count=3))
    await state.read("monday")

    preview = await state.preview_summary()
    assert [len(part) for part in (preview.pinned, preview.replaced, preview.kept)] == [1, 10, 3]
    assert preview.answer == "Short."


async def test_a_memory_brings_its_time_limit_which_can_be_changed(opened, talked):
    state = await opened(Memory(talked, SmallModel(seconds=60), time_limit=0.01))
    await state.read("monday")
    assert (await state.preview_summary()).problem == "the model has not answered within 0.01 seconds."

    await state.set(time_limit=0.02)
    assert (await state.preview_summary()).problem == "the model has not answered within 0.02 seconds."


async def test_settings_that_can_never_shrink_a_session_are_refused_where_there_is_a_model(opened, talked):
    state = await opened(talked, SmallModel())
    with pytest.raises(ConfigError, match="no summary would ever bring a session below its limit"):
        await state.set(max_messages=1, pin_count=50)
    assert (state.memory.max_messages, state.memory.pin_count) == (100, 2)


def test_a_model_that_cannot_be_asked_is_refused(talked):
    with pytest.raises(ConfigError, match="the model is int 5"):
        SessionsState(talked, 5)


async def test_a_model_that_fails_leaves_a_preview_that_says_so(opened, talked):
    state = await opened(talked, SmallModel(ConnectionError("no route")))
    await state.read("monday")

    assert (await state.preview_summary()).problem == "the model raised ConnectionError: no route"
    with pytest.raises(SummaryError, match="no route"):
        await state.apply()
    assert len(state.entries) == 14


async def test_an_answer_for_a_session_that_is_no_longer_shown_is_dropped(opened, talked):
    state = await opened(talked, SmallModel(seconds=0.05))
    await state.read("monday")

    asking = asyncio.create_task(state.preview_summary())
    await asyncio.sleep(0.01)
    assert state.busy == "Asking the model for a summary…"
    await state.read("tuesday")
    await asking
    assert (state.preview, state.busy) == (None, "")


async def test_a_preview_ends_with_a_change_of_the_session(opened, talked):
    state = await opened(talked, SmallModel())
    await state.read("monday")
    await state.preview_summary()

    await talked.delete(state.entries[4].memory_id)
    with pytest.raises(SummaryError, match="changed or removed meanwhile"):
        await state.apply()
    state.changed()
    await state.settled()
    assert state.preview is None
    with pytest.raises(SummaryError, match="none was previewed"):
        await state.apply()


async def test_without_a_session_there_is_nothing_to_summarise(opened, talked):
    state = await opened(talked, SmallModel())

    for action in (state.preview_summary, state.plan_summary, state.undo, state.messages):
        with pytest.raises(ConfigError, match="no session is shown; read one first"):
            await action()


# -- what fails ----------------------------------------------------------------------------------------------------


async def test_damage_is_told_with_its_place(opened, tmp_path):
    store = FileStore(tmp_path)
    await store.add(entry("s", "u", content="tea"))
    path = tmp_path / "s" / "u.jsonl"
    path.write_bytes(path.read_bytes() + b"null\n")

    with pytest.warns(UserWarning, match="line 2"):
        state = await opened(FileStore(tmp_path))
    await state.read("s")
    assert [(place, len(state.entries)) for _, place, _ in state.damage] == [("line 2", 1)]


async def test_a_store_that_fails_is_told_and_what_was_read_stays(opened, talked, monkeypatch):
    state = await opened(talked)
    await state.read("monday")

    async def broken():
        raise OSError("disk gone")

    monkeypatch.setattr(talked, "sessions", broken)
    state.changed()
    await state.settled()
    assert (state.failure, repr(state)) == ("OSError: disk gone", "Sessions(the refresh failed: OSError: disk gone)")
    assert len(state.entries) == 14
    monkeypatch.undo()
    state.changed()
    await state.settled()
    assert state.failure == ""


async def test_a_read_of_a_store_that_fails_raises_what_the_store_raised_until_it_is_well(opened, talked, monkeypatch):
    async def fails(*args, **options):
        raise OSError("disk gone")

    for method in ("get_entries", "sessions"):
        with monkeypatch.context() as patch:
            patch.setattr(talked, method, fails)
            state = await opened(talked)
            with pytest.raises(OSError, match="disk gone"):
                await state.read("monday")
        assert len(await state.read("monday")) == 14


async def test_a_session_that_cannot_be_read_does_not_hide_another(opened, talked, monkeypatch):
    get_entries = talked.get_entries

    async def fails(session_id, *args, **options):
        if session_id == "monday":
            raise OSError("disk gone")
        return await get_entries(session_id, *args, **options)

    monkeypatch.setattr(talked, "get_entries", fails)
    state = await opened(talked)
    with pytest.raises(OSError, match="disk gone"):
        await state.read("monday")
    assert len(await state.read("tuesday")) == 3


async def test_what_an_action_of_the_page_could_not_do_is_told(opened, talked):
    state = await opened(talked)
    told = []
    undo = state.subscribe(lambda: told.append(state.refused))

    state.spawn(state.apply)
    await state.settled()
    assert told[-1] == state.refused == "No summary: none was previewed; preview it first."
    undo()
    state.changed()
    await state.settled()
    assert (state.refused, told[-1]) == ("", "No summary: none was previewed; preview it first.")


@pytest.mark.parametrize("store", [PlainStore(), TestMemoryStore(name="notes", persist=False), 3], ids=type)
def test_what_lists_no_sessions_is_refused(store):
    with pytest.raises(ConfigError, match="is no store that lists sessions"):
        SessionsState(store)


async def test_it_says_when_it_is_not_settled():
    state = SessionsState(InMemoryStore())
    assert (repr(state), state.pending) == ("Sessions(not settled: `await` it first)", True)
    await state.settled()
    assert (repr(state), state.pending) == ("Sessions(0 sessions of 0 users)", False)
    state.close()
