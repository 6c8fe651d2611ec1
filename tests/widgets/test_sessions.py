"""The panel of sessions: what it shows, what its elements do, and that closing leaves nothing behind."""

from __future__ import annotations

import gc

import pytest
from ipywidgets.widgets import widget as all_widgets

from memwb import TestMemoryStore, Workbench
from memwb.errors import ConfigError
from memwb.sessions import FileStore, InMemoryStore, Memory, MemoryEntry
from memwb.testing import frozen
from memwb.widgets.panes.sessions import sessions_pane, sessions_top
from memwb.widgets.sessions import SessionsPanel
from tests.sessions.fakes import SmallModel, talk
from tests.widgets.reading import button, read, walk
from tests.widgets.wire import Wire

HOSTILE = "<img src=x onerror=alert(1)> </script> $x$ \x00 \u202e end"
CALL = {"id": "k1", "function": {"name": "price_of", "arguments": '{"product": "grab bar"}'}}


@pytest.fixture
def opened():
    """Makes a panel over a store, and closes it at the end."""
    made = []

    def open(store, *args, **settings):
        bench = Workbench(store)
        made.extend([bench.sessions(None, *args, **settings), bench])
        return made[-2]

    yield open
    for widget in made:
        widget.close()


@pytest.fixture
async def talked():
    """A store with a session of 11 messages of ann, one of them a tool's, and one of 2 of bob."""
    store = InMemoryStore()
    memory = Memory(store)
    with frozen():
        await talk(memory, 8, "monday", "ann")
        await memory.add({"role": "assistant", "content": "", "tool_calls": [CALL]}, "monday", "ann")
        await memory.add({"role": "tool", "content": "19.90", "tool_call_id": "k1"}, "monday", "ann")
        await memory.add({"role": "assistant", "content": "It costs 19.90."}, "monday", "ann")
        await talk(memory, 2, "tuesday", "bob")
    return store


def pane(panel, tab="conversation"):
    return read(sessions_pane(panel.state, tab))


def top(panel):
    return read(sessions_top(panel.state))


async def act(panel, **message):
    """Send what an element of the page would send, and wait until it is done."""
    panel._act(message)
    await panel


async def press(panel, tab, text):
    """Press a button of the pane, and wait until it is done."""
    await act(panel, **button(sessions_pane(panel.state, tab), text))


async def test_the_table_shows_the_sessions_and_a_click_opens_one(opened, talked):
    panel = await opened(talked)
    await panel.grid
    assert [row[2:] for row in panel.grid.sheet["rows"]] == [
        ["monday", "ann", "11", "2026-01-01 00:00"],
        ["tuesday", "bob", "2", "2026-01-01 00:00"],
    ]
    assert top(panel) == "2 sessions of 2 users. Choose one to read it. [Read again]"
    assert "Choose a session in the table" in pane(panel)

    Wire(panel.grid).put(selected=[panel.grid.sheet["rows"][1][0]])
    await panel.grid
    await panel
    assert repr(panel) == "Sessions(2 sessions of 2 users; 'tuesday' of 'bob': 2 entries)"
    assert top(panel) == (
        "'tuesday' of 'bob': 2 entries, ~1 tokens, 2026-01-01 00:00. [Read again][Open in the workbench]"
    )


async def test_the_table_is_filtered_and_sorted_in_the_kernel(opened, talked):
    panel = await opened(talked)

    panel.grid.where = "BOB"
    await panel.grid
    assert [row[2] for row in panel.grid.sheet["rows"]] == ["tuesday"]
    panel.grid.where, panel.grid.sort = "", "count"
    await panel.grid
    assert [row[2] for row in panel.grid.sheet["rows"]] == ["tuesday", "monday"]


async def test_what_a_cell_opens_is_chosen_in_the_table(opened, talked):
    panel = await opened(talked)

    await panel.read("monday")
    await panel
    assert panel.grid.selected == ['["monday", "ann"]']


async def test_a_conversation_shows_roles_and_folded_tool_calls(opened, talked):
    panel = await opened(talked)
    await panel.read("monday")

    lines = pane(panel).split("\n")
    assert lines[:3] == [
        "[Conversation 11][Context][Summary]",
        "<find text> [all 11][user 4][assistant 6][tool 1]",
        "user2026-01-01 00:00:00",
    ]
    assert lines[-7:] == [
        "assistant2026-01-01 00:00:00",
        'calls price_of({"product": "grab bar"})',
        'price_of {"product": "grab bar"} id k1',
        "tool, answers k12026-01-01 00:00:00",
        "19.90",
        "assistant2026-01-01 00:00:00",
        "It costs 19.90.",
    ]
    (folded,) = [node for node in walk(sessions_pane(panel.state, "conversation")) if node.tag == "details"]
    assert (folded.attributes, read(folded.children[0])) == ({}, 'calls price_of({"product": "grab bar"})')


async def test_the_conversation_is_filtered_on_the_page(opened, talked):
    panel = await opened(talked)
    await panel.read("monday")

    await press(panel, "conversation", "tool 1")
    assert "19.90" in pane(panel)
    assert "m1" not in pane(panel)
    await press(panel, "conversation", "all 11")
    await act(panel, do="find", value="COSTS")
    assert [entry.content for entry in panel.state.shown] == ["It costs 19.90."]
    await act(panel, do="find", value="nothing like it")
    assert "No entry of this session is as the filter asks." in pane(panel)
    assert list(panel.entries["content"]) == []


async def test_a_long_session_is_paged_on_the_page(opened):
    store = InMemoryStore()
    await talk(Memory(store), 120, "s", "u")
    panel = await opened(store)
    await panel.read("s")
    assert "[◀]3/3[▶]" in pane(panel).replace(" ", "")

    await act(panel, do="page", to=0)
    assert "[◀]1/3[▶]" in pane(panel).replace(" ", "")
    assert [each.content for each in panel.state.shown][:2] == ["m1", "m2"]


async def test_the_context_shows_the_messages_that_a_model_gets(opened, talked):
    memory = Memory(talked)
    panel = await opened(memory, SmallModel("They <talked>."))
    await panel.read("monday")
    await panel.preview()
    await panel.apply()

    shown = pane(panel, "context")
    assert "system\nThe conversation so far, summarised: <summary> They &lt;talked&gt;. </summary>" in shown
    assert "tool, tool_call_id k1\n19.90" in shown
    assert panel.context == await memory.get_context_messages("monday", "ann")


async def test_a_summary_is_previewed_before_it_replaces_anything_and_taken_back(opened, talked):
    panel = await opened(talked, SmallModel("They talked."), pin_count=1, recent_count=4)
    before = await panel.read("monday")
    assert "Preview asks the model and shows its answer, and what would be pinned" in pane(panel, "summary")

    await press(panel, "summary", "Ask the model")
    shown = pane(panel, "summary")
    assert "1 pinned, 5 replaced, 5 kept: ~9 → ~9 tokens estimated: characters // 4\nThe summary\nThey talked." in shown
    assert "Prompt as the model gets it\nsystem\nYou shorten the memory of a conversation." in shown
    assert shown.endswith("user\nassistant: m2 user: m3 assistant: m4 user: m5 assistant: m6")
    assert await talked.get_entries("monday", "ann") == before

    await press(panel, "summary", "Apply")
    assert len(panel.state.entries) == 7
    await press(panel, "summary", "Undo")
    assert await talked.get_entries("monday", "ann") == before


async def test_without_a_model_the_prompt_is_shown_and_a_summary_is_written_by_hand(opened, talked):
    panel = await opened(talked)
    await panel.read("monday")

    await press(panel, "summary", "Preview")
    apply = next(node for node in walk(sessions_pane(panel.state, "summary")) if node.text() == "Apply")
    assert apply.attributes["disabled"] == "disabled"
    await act(panel, do="write", value="By hand.")
    await act(panel, do="apply")
    assert panel.state.entries[2].content == "By hand."


async def test_pin_and_recent_counts_are_set_on_the_page(opened, talked):
    panel = await opened(talked)
    await panel.read("monday")

    await act(panel, do="set", name="pin_count", value=" 3 ")
    await act(panel, do="set", name="recent_count", value="four")
    assert (panel.state.memory.pin_count, panel.state.memory.recent_count) == (3, 5)
    assert "recent_count is 'four'; it must be a whole number" in top(panel)
    await panel.preview()
    assert "Pinned 3 stay at the start, word for word\n" in pane(panel, "summary")


async def test_more_than_was_asked_for_is_pinned_with_a_reason(opened, talked):
    panel = await opened(talked, recent_count=2)
    await panel.read("monday")

    await panel.preview()
    assert "Kept 4 stay; a call stays with its results, and the last message of the user stays" in pane(
        panel, "summary"
    )


async def test_a_short_session_has_nothing_to_replace(opened, talked):
    panel = await opened(talked)
    await panel.read("tuesday")

    await panel.preview()
    assert "There is nothing to replace: of 2 entries fewer than two lie between" in pane(panel, "summary")


async def test_a_model_that_fails_is_told(opened, talked):
    panel = await opened(talked, SmallModel(ConnectionError("no route")))
    await panel.read("monday")

    await press(panel, "summary", "Ask the model")
    assert "No answer: the model raised ConnectionError: no route." in pane(panel, "summary")


async def test_the_session_is_opened_in_the_workbench(talked):
    bench = Workbench(talked)
    panel = await bench.sessions()
    await panel.read("tuesday")

    await act(panel, do="bench")
    assert [message["role"] for message in bench.state.messages] == ["user", "assistant"]
    panel.close()
    bench.close()


async def test_damage_is_shown_with_its_place(opened, tmp_path):
    store = FileStore(tmp_path)
    await store.add(MemoryEntry("s", content="tea"))
    path = tmp_path / "s" / "default.jsonl"
    path.write_bytes(path.read_bytes() + b"null\n" * 22)

    with pytest.warns(UserWarning, match="line"):
        panel = await opened(FileStore(tmp_path))
    shown = top(panel)
    assert "22 places of the store cannot be read; what is there was left as it is." in shown
    assert f"line 2 of {path}" in shown
    assert shown.endswith("and 2 more")


async def test_an_empty_store_says_what_writes_sessions(opened):
    panel = await opened(InMemoryStore())

    assert top(panel).startswith("There are no sessions yet: an agent's memory writes them")


async def test_hostile_texts_ids_and_roles_are_shown_as_texts(opened):
    store = InMemoryStore()
    call = {"id": HOSTILE, "name": HOSTILE, "arguments": HOSTILE}
    data = {"role": "assistant", "content": HOSTILE, "tool_calls": [call]}
    for at in range(12):
        role = HOSTILE if at == 3 else "assistant"
        await store.add(MemoryEntry(HOSTILE, f"e{at}", HOSTILE, role, HOSTILE, data, float(at), float(at)))
    panel = await opened(store, SmallModel(HOSTILE))
    await panel.read(HOSTILE)
    await panel.preview()
    await panel.grid

    panes = [sessions_pane(panel.state, tab) for tab in ("conversation", "context", "summary")]
    for tree in (sessions_top(panel.state), *panes):
        html = tree.to_html()
        assert "<img" not in html
        assert "</script" not in html
        assert "\x00" not in html
        assert "\u202e" not in html
    await act(panel, do="role", to=HOSTILE)
    assert len(panel.state.shown) == 1
    assert panel.grid.selected == [panel.grid.sheet["rows"][0][0]]


async def test_thousands_of_sessions_send_a_page(opened):
    store = InMemoryStore()
    await store.add_many(
        [MemoryEntry(f"s{n}", user_id=f"u{n % 50}", content="tea " * 100, created_at=float(n)) for n in range(5000)]
    )
    panel = opened(store)
    wire = Wire(panel.grid)
    await panel
    await panel.grid

    assert panel.grid.total == 5000
    assert wire.bytes() < 20_000


async def test_closing_leaves_nothing_behind(talked):
    bench = Workbench(talked)
    await bench
    for _ in range(2):
        panel = await bench.sessions(model=SmallModel())
        await panel.read("monday")
        await panel.preview()
        panel.close()
        del panel
        gc.collect()
        counts = len(all_widgets._instances)
    assert len(bench.state._subscribers) == 1
    panel = await bench.sessions()
    panel.close()
    assert len(all_widgets._instances) == counts
    bench.close()


async def test_a_workbench_on_something_else_says_that_it_has_no_sessions(talked):
    bench = Workbench(TestMemoryStore(name="notes", persist=False))

    with pytest.raises(ConfigError, match=r"this source has no sessions\. Open a database or a folder of them"):
        bench.sessions()
    panel = await bench.sessions(talked)
    assert isinstance(panel, SessionsPanel)
    panel.close()
    bench.close()
