"""Settings side by side: what is kept under a name, and how it differs from the settings in force."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwb import callbacks, datasets
from memwb.errors import ConfigError
from memwb.evaluation import Case
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState
from memwb.workbench.arms import NO_MEMORY, NOW, OTHER_PLACE

FACTS = ["I use a cane.", "I use a bike.", "My desk is by the window."]
HOSTILE = "</del></pre><script>alert(1)</script> I use <b onclick=x>\u202e it"


@pytest.fixture
async def state():
    state = WorkbenchState(FACTS, ["What is by the window?", "Your desk.", "What do I use?"])
    await state.settled()
    return state


async def test_a_pinned_arm_keeps_its_settings_and_differs_from_those_in_force(state):
    state.arms.pin("all")
    await state.set(max_entries=1)
    found = await state.arms.compare()
    assert found.arms == (NOW, "all", NO_MEMORY)
    (against,) = found.differences("all")
    assert [place.content for place in against.added] == ["I use a cane."]
    assert (against.dropped, against.moved, against.rescored) == ((), (), ())
    assert against.lines == (("+", '<entry source="texts">I use a cane.</entry>'),)
    assert repr(found).startswith("Comparison(against the settings in force; 'all': 1 added, +")
    (without,) = found.differences(NO_MEMORY)
    assert [place.content for place in without.dropped] == ["I use a bike."]
    assert without.tokens == -found.totals(NOW)["tokens"] < 0


async def test_callbacks_are_kept_and_the_live_settings_stay_as_they_are(state):
    await state.set(query=callbacks.last_two_messages, call=2)
    state.arms.pin("two messages")
    await state.set(query=None)
    before = (state.settings, state.messages, state.call)
    (found,) = (await state.arms.compare(no_memory=False)).differences("two messages")
    assert [place.content for place in found.added] == ["My desk is by the window."]
    assert (state.settings, state.messages, state.call) == before


async def test_many_conversations_are_compared_by_name_or_in_their_order(state, tmp_path):
    monday, tuesday = ["Do I use a bike?"], ["My cane?", "Yes.", "And my desk?"]
    state.arms.pin("a")
    named = await state.arms.compare(messages={"monday": monday, "tuesday": tuesday})
    assert [call.name for call in named.calls] == ["monday, call 1", "tuesday, call 2"]
    every = await state.arms.compare("all", messages=[monday, tuesday])
    assert [call.name for call in every.calls] == [
        "conversation 1, call 1",
        "conversation 2, call 1",
        "conversation 2, call 2",
    ]
    alone = await state.arms.compare("all", messages=tuesday)
    blocks = [[outcome.block for outcome in call.outcomes] for call in (*every.calls[1:], *alone.calls)]
    assert blocks[:2] == blocks[2:]
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "My cane?"}]')
    assert len((await state.arms.compare(messages=[tmp_path / "talk.json", monday])).calls) == 2


async def test_what_is_wrong_with_one_of_many_conversations_is_told_with_its_name(state):
    with pytest.raises(ConfigError, match="This is of monday"):
        await state.arms.compare(2, messages={"tuesday": ["a?", "b", "c?"], "monday": ["a?"]})
    with pytest.raises(ConfigError, match="This is of conversation 2"):
        await state.arms.compare(messages=[["a?"], [{"role": "nobody"}]])
    for wrong in ({}, 7, [["a?"], 7]):
        with pytest.raises(ConfigError):
            await state.arms.compare(messages=wrong)


async def test_entries_move_and_are_scored_anew_by_another_query(state):
    state.arms.pin("plain")
    await state.set(query=lambda context: "cane use")
    (found,) = (await state.arms.compare(no_memory=False)).differences("plain")
    assert [(old.rank, new.rank, new.content) for old, new in found.moved] == [
        (2, 1, "I use a bike."),
        (1, 2, "I use a cane."),
    ]
    assert [(old.score, new.score) for old, new in found.rescored if new.content == "I use a bike."] == [(1, 2)]


async def test_every_call_another_conversation_and_cases_are_compared(state):
    state.arms.pin("one")
    every = await state.arms.compare("all")
    assert [call.name for call in every.calls] == ["call 1", "call 2"]
    assert every.totals(NOW)["injected"] == 2
    assert [call.name for call in (await state.arms.compare(1)).calls] == ["call 1"]
    other = await state.arms.compare(messages="Where is my desk?")
    assert [place.content for place in other.calls[0].outcomes[0].entries] == ["My desk is by the window."]
    case = Case("a case", [{"role": "user", "content": [{"text": "bike"}]}])
    assert [call.name for call in (await state.arms.compare(cases=[case])).calls] == ["a case"]


async def test_cases_are_compared_over_the_stores_of_their_owners(state):
    cases = [{"id": who, "messages": ["Where is my desk?"], "owner": who} for who in ("ada", "bob")]
    stores = {who: TestMemoryStore.from_records([f"{who}'s desk"], name=who) for who in ("ada", "bob")}

    found = await state.arms.compare(cases=cases, stores=stores)

    assert [[place.content for place in call.outcomes[0].entries] for call in found.calls] == [
        ["ada's desk"],
        ["bob's desk"],
    ]
    people = datasets.load("ikat-demo")
    assert len((await state.arms.compare(cases=people)).calls) == len(people.cases)
    with pytest.raises(ConfigError, match="owner is 'bob', for whom there are no stores"):
        await state.arms.compare(cases=cases, stores={"ada": stores["ada"]})
    with pytest.raises(ConfigError, match="stores for the owners of cases"):
        await state.arms.compare(stores=stores)


async def test_an_arm_may_search_other_stores_such_as_those_of_an_earlier_day(state):
    state.arms.pin("before", stores=["I use a cane."])
    (found,) = (await state.arms.compare(no_memory=False)).differences("before")
    assert [place.content for place in found.dropped] == ["I use a bike."]


async def test_both_placements_stand_beside_each_other(state):
    found = await state.arms.compare(placements=True, no_memory=False)
    (other,) = found.differences(OTHER_PLACE)
    assert (other.input, other.lines, other.tokens) == (True, (), 0)
    assert repr(other) == "Difference('now, other placement': the same entries in another text, +0 tokens)"
    assert "stands at another place" in found._repr_html_()


async def test_b63_an_entry_that_is_given_twice_is_dropped_once():
    store = TestMemoryStore.from_records(
        [{"id": each, "content": "I use it.", "createdAt": "2024-01-01T00:00:00.000Z"} for each in "ab"],
        name="twice",
    )
    state = WorkbenchState([store], "What do I use?")
    state.arms.pin("both")
    await state.set(max_entries=1)
    (found,) = (await state.arms.compare(no_memory=False)).differences("both")
    assert (len(found.added), found.dropped) == (1, ())


async def test_the_frame_has_a_row_for_each_call_and_arm(state):
    state.arms.pin("same")
    frame = (await state.arms.compare("all")).to_frame()
    assert list(frame.columns) == "call arm entries tokens seconds added dropped moved rescored lines same".split()
    assert list(frame[frame.arm == "same"].same) == [True, True]
    assert list(frame[frame.arm == NO_MEMORY].dropped) == [1, 2]


async def test_hostile_entries_stay_text_in_the_table():
    state = WorkbenchState([HOSTILE], "What do I use?")
    state.arms.pin("<script>arm</script>")
    await state.set(max_entries=1)
    html = (await state.arms.compare())._repr_html_()
    assert [sign for sign in ("<script", "<b onclick", "\u202e") if sign in html] == []
    assert "&lt;script&gt;alert(1)" in html


@pytest.mark.parametrize("name", ["", "  ", None, NOW, NO_MEMORY])
async def test_a_name_that_says_nothing_or_is_taken_is_refused(state, name):
    with pytest.raises(ConfigError, match="pin needs a name"):
        state.arms.pin(name)
    assert state.arms.pinned == {}


async def test_an_unknown_arm_is_refused_with_the_nearest_one(state):
    with pytest.raises(ConfigError, match="none is pinned"):
        state.arms.unpin("two turns")
    state.arms.pin("two turns")
    with pytest.raises(ConfigError, match="Did you mean 'two turns'"):
        state.arms.unpin("two turn")
    state.arms.unpin("two turns")
    assert state.arms.pinned == {}
    found = await state.arms.compare()
    with pytest.raises(ConfigError, match="there is no arm 'nobody'"):
        found.differences("nobody")
    with pytest.raises(ConfigError, match="call is 9"):
        await state.arms.compare(9)
    with pytest.raises(ConfigError, match="not both"):
        await state.arms.compare("all", cases=[])


@pytest.mark.parametrize("wrong", [None, 3.5, "second", "x" * 100_000, object(), [1, "x"], {}, [None, []]])
async def test_what_names_no_call_or_no_arm_is_told_in_a_short_sentence(wrong):
    state = WorkbenchState(["I use a cane."], "cane?")
    with pytest.raises(ConfigError) as caught:
        state.arms.unpin(wrong)
    assert len(str(caught.value)) < 300
    if wrong != {}:  # no call is asked for
        with pytest.raises(ConfigError) as caught:
            await state.arms.compare(calls=wrong)
        assert len(str(caught.value)) < 300


async def test_lines_that_all_change_are_shown_as_they_were_and_as_they_are():
    state = WorkbenchState([f"Fact {at} of the cane." for at in range(200)], "cane?", injection={"max_entries": 200})
    state.arms.pin("plain")
    await state.set(format=lambda context: "\n".join(f"* {each.content}" for each in context.entries))
    (found,) = (await state.arms.compare(no_memory=False)).differences("plain")
    stars = [line for sign, line in found.lines if sign == "-"]
    assert stars == [f"* {entry.content}" for entry in state.trace.entries]
    assert len([line for sign, line in found.lines if sign == "+"]) >= 200


WORDS = st.lists(st.sampled_from(["cane", "bike", "I", "use", "a", "desk"]), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=25)
@given(
    st.lists(WORDS, min_size=1, max_size=6),
    st.lists(WORDS, min_size=1, max_size=4),
    st.fixed_dictionaries(
        {},
        optional={
            "max_entries": st.integers(1, 4),
            "trigger": st.sampled_from(["userTurn", "everyTurn"]),
            "placement": st.sampled_from(["append", "prepend"]),
            "query": st.sampled_from([callbacks.last_two_messages, lambda context: 1 / 0]),
            "format": st.just(lambda context: "\n".join(entry.content for entry in context.entries)),
        },
    ),
)
def test_a_comparison_of_a_setting_with_itself_is_empty(facts, talk, injection):
    async def run():
        state = WorkbenchState(facts, talk, injection=injection)
        await state.settled()
        state.arms.pin("itself")
        return await state.arms.compare("all", no_memory=False)

    found = asyncio.run(run())
    assert found.calls
    assert found.empty
    assert {each.summary for each in found.differences("itself")} == {"no difference"}


class Away:
    """A store whose search fails."""

    name, description, max_search_results, writable, extraction = "notes", None, None, False, None

    async def search(self, query, options=None):
        raise ConnectionError("the model is away")


async def test_an_arm_whose_store_fails_is_told_as_failed_and_not_as_one_that_finds_less(state):
    state.arms.pin("engine", stores=Away())

    found = await state.arms.compare(no_memory=False)

    (difference,) = found.differences("engine")
    assert difference.failed == "failed at search: store 'notes' raised ConnectionError('the model is away')"
    assert f"'engine': {difference.failed}, " in repr(found)
    assert "the model is away" in found._repr_html_()
    again = await state.arms.compare("all", no_memory=False)
    assert "'engine': 2 of 2 calls differ, 2 failed, " in repr(again)
