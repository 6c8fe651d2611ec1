"""A workbench in a folder: opened again it is what it was, and its files tell what it is."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memwb
from memwb import callbacks, tokens
from memwb.errors import ConfigError, DamagedFileError
from memwb.evaluation.settings_file import load_settings
from memwb.ranking import HashingEmbedder
from memwb.sessions import FileStore, Memory, SQLiteStore
from memwb.stores import Semantic, TestMemoryStore
from memwb.workbench import WorkbenchState

FACTS = ["I use a cane.", "I use a bike.", "My desk is by the window."]
TALK = ["What is by the window?", "Your desk.", "What do I use?"]

EDITED = """import re

SHORT = 3

def words(text):
    return re.findall(r"\\w+", text)

def looked_for(context):
    return " ".join(word for word in words(context.messages[-1]["content"][0]["text"]) if len(word) >= SHORT)
"""


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
async def state():
    state = WorkbenchState(FACTS, TALK)
    await state.settled()
    return state


async def opened(folder):
    state = WorkbenchState(folder)
    await state.settled()
    return state


async def test_a_snapshot_is_a_folder_of_readable_files(state, tmp_path):
    await state.edit("query", EDITED)
    folder = await memwb.snapshot(state, tmp_path / "new" / "day one")
    assert sorted(files(folder)) == [
        "conversation.jsonl",
        "settings.py",
        "snapshot.json",
        "stores/stores.json",
        "stores/texts.json",
    ]
    lines = (folder / "conversation.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["content"][0]["text"] for line in lines] == TALK
    assert load_settings(folder / "settings.py")["max_entries"] == 5
    assert list(folder.parent.iterdir()) == [folder]


async def test_opened_again_it_shows_the_same(state, tmp_path):
    await state.edit("query", EDITED)
    await state.set(max_entries=1, trigger="everyTurn", placement="append", call=1, tokenizer="any script")
    state.look_for("bike")
    again = await opened(await memwb.snapshot(state, tmp_path / "x"))
    assert (again.trace.text, again.trace.query, again.call) == (state.trace.text, state.trace.query, 1)
    assert (again.looked_for, again.tokenizer) == ("bike", state.tokenizer)
    assert again.settings.max_entries == 1
    assert again.settings.trigger == "everyTurn"
    assert "def words" in again.slots["query"].source


async def test_no_code_of_a_snapshot_runs_before_its_refresh_and_a_mistake_is_shown_where_it_stands(state, tmp_path):
    await state.edit("format", "def format(context):\n    return 'mine'\n")
    folder = await memwb.snapshot(state, tmp_path / "x")
    file = folder / "settings.py"
    file.write_text(file.read_text() + "\nraise SystemExit\n")
    assert (await opened(folder)).trace.text == "mine"
    file.write_text(file.read_text().replace("return 'mine'", "return unknown_name"))
    again = await opened(folder)
    assert "unknown_name" in str(again.problems["format"])


async def test_what_a_person_gives_beside_the_folder_wins(state, tmp_path):
    await state.set(max_entries=1, query=callbacks.last_two_messages)
    folder = await memwb.snapshot(state, tmp_path / "x")
    again = WorkbenchState(folder, "bike", injection={"max_entries": 2})
    await again.settled()
    assert (again.trace.query, again.settings.max_entries) == ("bike", 2)


async def test_an_image_in_a_message_comes_back_byte_for_byte(tmp_path):
    message = {
        "role": "user",
        "content": [{"text": "cane?"}, {"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}}],
    }
    state = WorkbenchState(FACTS, [message])
    again = await opened(await memwb.snapshot(state, tmp_path / "x"))
    assert again.messages == state.messages


async def test_injection_that_is_off_stays_off(tmp_path):
    state = WorkbenchState(FACTS, TALK, injection=False)
    again = await opened(await memwb.snapshot(state, tmp_path / "x"))
    assert again.injection is False


async def test_a_snapshot_replaces_an_earlier_one_and_nothing_else(state, tmp_path):
    folder = await memwb.snapshot(state, tmp_path / "x")
    await state.set(max_entries=2)
    await memwb.snapshot(state, folder)
    assert (await opened(folder)).settings.max_entries == 2
    (folder / "notes.txt").write_text("mine")
    before = files(folder)
    with pytest.raises(ConfigError, match=r"holds 'notes.txt', which no snapshot has"):
        await memwb.snapshot(state, folder)
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "settings.py").write_text("")
    with pytest.raises(ConfigError, match="is no snapshot"):
        await memwb.snapshot(state, tmp_path / "y")
    (tmp_path / "z").write_text("a file")
    with pytest.raises(ConfigError, match="is no snapshot"):
        await memwb.snapshot(state, tmp_path / "z")
    assert files(folder) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y", "z"]


async def test_what_cannot_be_kept_is_named_and_nothing_is_written(state, tmp_path):
    outside = "cane"
    await state.set(query=lambda context: outside)
    with pytest.raises(ConfigError, match=r"snapshot: .*'outside'"):
        await memwb.snapshot(state, tmp_path / "x")
    await state.set(query=None, messages=[{"role": "user", "content": [{"text": "x"}, {"odd": {1, 2}}]}])
    with pytest.raises(ConfigError, match="message 0 holds a value that JSON cannot keep"):
        await memwb.snapshot(state, tmp_path / "x")
    await state.set(messages=None, tokenizer=lambda text: set(text))
    with pytest.raises(ConfigError, match="has no name"):
        await memwb.snapshot(state, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("snapshot.json", "{", "snapshot.json"),
        ("snapshot.json", "[]", "no description of a snapshot"),
        ("snapshot.json", '{"format": 1}', "call is missing; expected is missing; looked_for is missing"),
        ("conversation.jsonl", '{"role": "user", "content": "x"}', "message 0"),
        ("conversation.jsonl", "{}\n{", "line 2"),
        ("settings.py", "def", "line 1"),
        ("settings.py", "x = 1", "no settings"),
        ("settings.py", "injection = {'max_entries': len('x')}", "no plain value"),
        ("stores/stores.json", "{", "stores.json"),
        ("stores/texts.json", "[1]", "texts.json"),
    ],
)
async def test_a_damaged_snapshot_is_named_by_its_file(state, tmp_path, file, text, told):
    folder = await memwb.snapshot(state, tmp_path / "x")
    (folder / file).write_text(text)
    with pytest.raises(DamagedFileError, match=told):
        WorkbenchState(folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"call": True}, "call is True, not a whole number"),
        ({"expected": [1]}, r"expected\[0\] is 1, not a text"),
        ({"searched": [["x"]]}, r"searched\[0\] is \['x'\], not a text"),
        ({"tokenizer": []}, r"tokenizer is \[\], not a text or null"),
        ({"tokenizer": "mine"}, "tokenizer is 'mine'; it takes words, any script, without stop words or null"),
        ({"placement": "above"}, "placement is 'above'; it takes append, prepend or null"),
        ({"token_counter": 4}, "token_counter is 4, not a text or null"),
        ({"state": 3}, "state is 3, not an object or null"),
        ({"expected_at": 9}, "no model call 9"),
        ({"arms": "x"}, "arms is 'x', not a list"),
        ({"arms": [7]}, r"arms\[0\] is 7, not an object"),
        ({"arms": [{"name": "a", "own": 1}]}, r"arms\[0\].own is 1, not true or false; arms\[0\].stores is missing"),
        ({"arms": [{"name": "a", "own": False, "stores": ["x"]}]}, r"its arm 'a' searches stores .*\['x'\]"),
    ],
)
async def test_a_wrong_value_of_the_description_is_named_with_what_it_should_be(state, tmp_path, change, told):
    state.arms.pin("a")
    folder = await memwb.snapshot(state, tmp_path / "x")
    about = json.loads((folder / "snapshot.json").read_text())
    (folder / "snapshot.json").write_text(json.dumps({**about, **change}))
    with pytest.raises(DamagedFileError, match=told):
        WorkbenchState(folder)


async def test_a_snapshot_of_the_first_form_without_arms_still_opens(state, tmp_path):
    folder = await memwb.snapshot(state, tmp_path / "x")
    about = json.loads((folder / "snapshot.json").read_text())
    del about["arms"], about["expected_at"]
    (folder / "snapshot.json").write_text(json.dumps(about))
    again = await opened(folder)
    assert (again.arms.pinned, again.trace.text) == ({}, state.trace.text)


async def test_a_snapshot_that_a_killed_process_left_aside_opens_and_the_next_write_tidies_up(state, tmp_path):
    folder = await memwb.snapshot(state, tmp_path / "x")
    before = files(folder)
    folder.rename(tmp_path / ".x.0123456789ab.old")
    (tmp_path / ".x.mine.old").mkdir()
    abandoned, young = tmp_path / ".x.0123456789ac.new", tmp_path / ".x.0123456789ad.new"
    for each in (abandoned, young):
        each.mkdir()
    os.utime(abandoned, (0, 0))
    assert (await opened(folder)).trace.text == state.trace.text
    await memwb.snapshot(state, folder)
    assert files(folder) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == [young.name, ".x.mine.old", "x"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes that are killed are forked")
def test_killed_at_any_step_the_name_opens_as_the_earlier_snapshot_or_as_the_new_one():
    command = [sys.executable, "-m", "tests.scripts.kill_snapshot", "--rounds", "0"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "aside" in done.stdout
    assert "HALF" not in done.stdout


async def test_an_arm_is_kept_with_its_callbacks_and_its_own_stores(state, tmp_path):
    await state.edit("query", EDITED)
    state.arms.pin("typed")
    await state.set(query=None, max_entries=1)
    state.arms.pin("other", stores=["Nothing but a bike."])
    state.switch(["I use skates."])
    await state.settled()
    folder = await memwb.snapshot(state, tmp_path / "x")
    again = await opened(folder)
    assert list(again.arms.pinned) == ["typed", "other"]
    one, two = await state.arms.compare(), await again.arms.compare()
    texts = [[outcome.block for outcome in each.calls[0].outcomes] for each in (one, two)]
    assert texts[0] == texts[1]
    assert files(await memwb.snapshot(again, tmp_path / "y")) == files(folder)
    masked = await memwb.snapshot(again, tmp_path / "z", redact=lambda text: "gone")
    assert b"bike" not in b"".join(files(masked).values())


async def test_an_arm_whose_callback_does_not_run_is_named_when_it_is_compared(state, tmp_path):
    await state.edit("format", "def format(context):\n    return 'mine'\n")
    state.arms.pin("mine")
    folder = await memwb.snapshot(state, tmp_path / "x")
    file = folder / "arms" / "1" / "settings.py"
    file.write_text(file.read_text().replace("return 'mine'", "return unknown_name"))
    again = await opened(folder)
    with pytest.raises(ConfigError, match=r"a callback of the arm 'mine' does not run: .*unknown_name"):
        await again.arms.compare()


async def test_what_is_expected_at_another_call_than_the_open_one_is_kept(tmp_path):
    state = WorkbenchState(FACTS, TALK, expected=["I use a cane."])
    await state.set(call=1)
    again = await opened(await memwb.snapshot(state, tmp_path / "x"))
    assert (again.call, again.expected) == (1, ())
    await again.set(call=2)
    assert again.expected == ("I use a cane.",)


@pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
async def test_the_token_counter_is_kept_by_its_name(state, tmp_path):
    pytest.importorskip("bpe_openai", reason="an exact counter is of the extra `tokens`")
    await state.set(token_counter=tokens.bpe())
    again = await opened(await memwb.snapshot(state, tmp_path / "x"))
    assert again.token_counter.name == state.token_counter.name
    assert again.token_counter.exact


@pytest.mark.parametrize("name", ["talks", "talks.db"])
async def test_a_snapshot_of_sessions_opens_as_a_plain_store_of_what_was_said(tmp_path, name):
    kind = SQLiteStore if name.endswith(".db") else FileStore
    async with kind(tmp_path / name) as store:
        memory = Memory(store)
        for text in FACTS:
            await memory.add({"role": "user", "content": text}, session_id="monday")
    state = WorkbenchState(tmp_path / name, "Do I use a bike?")
    await state.settled()
    again = await opened(await memwb.snapshot(state, tmp_path / "kept"))
    assert [hit.content for hit in again.hits] == [hit.content for hit in state.hits]
    assert (len(again.hits), again.source.sessions) == (2, None)


async def test_a_file_that_is_missing_is_named_and_a_newer_format_is_refused(state, tmp_path):
    folder = await memwb.snapshot(state, tmp_path / "x")
    about = json.loads((folder / "snapshot.json").read_text())
    (folder / "snapshot.json").write_text(json.dumps({**about, "format": 2}))
    with pytest.raises(ConfigError, match="update it"):
        WorkbenchState(folder)
    (folder / "snapshot.json").write_text(json.dumps({**about, "call": 7}))
    with pytest.raises(DamagedFileError, match="no model call 7"):
        WorkbenchState(folder)
    (folder / "snapshot.json").write_text(json.dumps(about))
    (folder / "conversation.jsonl").unlink()
    with pytest.raises(OSError, match=r"conversation\.jsonl cannot be read"):
        WorkbenchState(folder)


async def test_what_is_no_workbench_no_folder_or_no_mask_is_told_and_nothing_is_written(state, tmp_path):
    for wrong, told in (
        ({"bench": None}, "give the workbench"),
        ({"bench": tmp_path, "folder": state}, "give the workbench"),
        ({"folder": "\ud800"}, "no file's name"),
        ({"folder": 3}, "a text or a Path"),
        ({"redact": "yes"}, "redact must be True, False or a function"),
        ({"redact": len}, "returned .*; it must return the text"),
    ):
        with pytest.raises(ConfigError, match=told):
            await memwb.snapshot(**{"bench": state, "folder": tmp_path / "x", **wrong})
    assert list(tmp_path.iterdir()) == []


async def test_a_masked_snapshot_holds_no_word_of_memory_and_ranks_as_before(tmp_path):
    store = TestMemoryStore.from_records(
        [
            {
                "id": f"id-{at}",
                "content": text,
                "createdAt": f"2024-01-0{at}T00:00:00.000Z",
                "metadata": {"by": "Annabel"},
            }
            for at, text in enumerate(FACTS, 1)
        ],
        name="notes",
    )
    state = WorkbenchState([store], TALK, expected=["I use a cane."])
    state.look_for("bike")
    folder = await memwb.snapshot(state, tmp_path / "x", redact=True)
    held = b"".join(files(folder).values()).lower()
    assert [word for word in (b"cane", b"bike", b"window", b"desk", b"annabel") if word in held] == []
    again = await opened(folder)
    assert [hit.id for hit in again.hits] == [hit.id for hit in state.hits]
    masked = await memwb.snapshot(state, tmp_path / "y", redact=lambda text: "gone")
    assert {record.content for record in await (await opened(masked)).source.stores[0].page(0, 9)} == {"gone"}


async def test_an_arm_may_search_a_snapshot_of_an_earlier_day(state, tmp_path):
    folder = await memwb.snapshot(WorkbenchState(["I use a cane."]), tmp_path / "before")
    state.arms.pin("before", stores=folder)
    (found,) = (await state.arms.compare(no_memory=False)).differences("before")
    assert [place.content for place in found.dropped] == ["I use a bike."]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30).filter(str.strip)
RECORDS = st.lists(
    st.fixed_dictionaries({"content": TEXT}, optional={"metadata": st.dictionaries(TEXT, TEXT | st.integers(-9, 9))}),
    max_size=5,
    unique_by=lambda record: record["content"],
)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(RECORDS, min_size=1, max_size=3),
    st.lists(TEXT, min_size=1, max_size=4),
    st.fixed_dictionaries(
        {},
        optional={
            "max_entries": st.integers(1, 4),
            "trigger": st.sampled_from(["userTurn", "everyTurn", lambda context: True]),
            "placement": st.sampled_from(["append", "prepend"]),
            "query": st.sampled_from([callbacks.last_two_messages, lambda context: "a cane"]),
            "format": st.sampled_from([callbacks.bullet_list]),
        },
    ),
    st.fixed_dictionaries(
        {
            "tokenizer": st.sampled_from([None, "any script", "without stop words"]),
            "state": st.none() | st.dictionaries(TEXT, TEXT | st.booleans(), max_size=2),
        }
    ),
    st.lists(st.tuples(TEXT, st.integers(1, 4), st.none() | st.lists(TEXT, min_size=1, max_size=2)), max_size=3),
    st.data(),
)
def test_open_of_snapshot_equals_what_was_there(stores, talk, injection, chosen, pins, data):
    made = [
        TestMemoryStore.from_records(
            [{"id": f"{at}", "createdAt": "2024-01-01T00:00:00.123Z", **record} for at, record in enumerate(records)],
            name=f"store {number}",
        )
        for number, records in enumerate(stores)
    ]

    async def run(folder):
        state = WorkbenchState(made, talk, injection=injection)
        call = st.integers(1, len(state.calls))
        names = st.lists(st.sampled_from(state.store_names), min_size=1, unique=True)
        for name, limit, own in pins:
            await state.set(max_entries=limit)
            state.arms.pin(f"arm {name}", stores=own)
        await state.set(**chosen, stores=data.draw(names), call=data.draw(call))
        expected = tuple(data.draw(st.lists(TEXT, max_size=2, unique=True)))
        moment = replace(state.moment(), expected=expected, expected_at=data.draw(call))
        state.return_to(moment)
        state.look_for(data.draw(TEXT | st.just("")))
        await state.settled()
        first = await memwb.snapshot(state, folder / "one")
        again = WorkbenchState(first)
        await again.settled()
        second = await memwb.snapshot(again, folder / "two")
        assert files(second) == files(first)
        assert (again.messages, again.call, again.store_names) == (state.messages, state.call, state.store_names)
        assert (again.moment(), again.looked_for, again.agent_state) == (moment, state.looked_for, state.agent_state)
        assert again.tokenizer == state.tokenizer
        assert [(arm.name, arm.own) for arm in again.arms.pinned.values()] == [
            (arm.name, arm.own) for arm in state.arms.pinned.values()
        ]
        ours, theirs = [await each.arms.compare("all") for each in (state, again)]
        assert [[outcome.block for outcome in call.outcomes] for call in theirs.calls] == [
            [outcome.block for outcome in call.outcomes] for call in ours.calls
        ]
        assert (again.trace.text, again.trace.messages) == (state.trace.text, state.trace.messages)
        for store, other in zip(made, again.source.stores, strict=True):
            assert await other.page(0, 99) == await store.page(0, 99)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def test_a_store_that_was_searched_by_meaning_opens_by_shared_words_and_that_is_told(tmp_path):
    bench = WorkbenchState(Semantic(TestMemoryStore.from_records(FACTS, name="notes"), HashingEmbedder()), "my cane")
    await bench.settled()

    with pytest.warns(UserWarning, match=r"^snapshot: 'notes' \(similarity\) will be searched by shared words when"):
        await memwb.snapshot(bench, tmp_path / "kept")

    opened = WorkbenchState(tmp_path / "kept")
    await opened.settled()
    assert sorted(record.content for record in await opened.source.stores[0].page(0, 9)) == sorted(FACTS)
