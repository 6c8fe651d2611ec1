"""What a prompt cache keeps of a call's input: figures by hand, and the definition on any conversation."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.memory.messages import fold
from memwb.stores import TestMemoryStore
from memwb.tokens import bpe
from memwb.workbench.caching import CacheView, common, equal_tokens, serialised
from memwb.workbench.state import WorkbenchState


class Characters:
    """Counts characters, so that figures can be told by hand."""

    name, exact = "characters", True

    def count(self, text):
        return len(text)


def bench(messages, **settings):
    store = TestMemoryStore.from_records(["latex"], name="n")
    return WorkbenchState(store, messages, token_counter=Characters(), **settings)


BLOCK = '<memory>\n<entry source="n">latex</entry>\n</memory>'


async def test_with_append_the_earlier_words_are_kept_too():
    state = bench(["is it latex?", "No.", "latex?"])

    view = await state.cache()

    # "\nuser:" and a newline, then the words where nothing stands before them.
    words = "is it latex?"
    rest = f"{words}\nassistant:\nNo.\nuser:\nlatex?"
    head = len("\nuser:\n")
    whole = head + len(rest) + 1 + len(BLOCK)
    assert view == CacheView(
        3 - 1, "prepend", {"prepend": whole, "append": whole + 2}, {"prepend": head, "append": head + len(words) + 1}
    )
    assert view.sentence == f"A prompt cache keeps {head} of {whole} tokens with prepend, {head + 13} with append."
    assert repr(view) == f"CacheView(call 2: {view.sentence})"
    expected = [("prepend", head, whole), ("append", head + 13, whole + 2)]
    pd.testing.assert_frame_equal(view.to_frame(), pd.DataFrame(expected, columns=["placement", "kept", "tokens"]))


async def test_without_injection_all_that_was_sent_before_is_kept():
    state = bench(["is it latex?", "No.", "latex?"], injection=False)
    view = await state.cache()
    before = len("\nuser:\nis it latex?\n")  # up to the next message, whose role begins with another letter
    assert view.kept == {"prepend": before - 1, "append": before - 1}
    assert view.sentence == f"A prompt cache keeps {before - 1} of {view.tokens['prepend']} tokens."


async def test_the_first_call_has_nothing_to_keep():
    view = await bench("latex?").cache()
    assert view.kept == {"prepend": 0, "append": 0}
    assert view.sentence == "The first call: there is no earlier input that a prompt cache could keep."


async def test_it_is_read_at_each_refresh_while_it_is_wanted():
    state = bench(["is it latex?", "No.", "latex?"])
    await state.settled()
    assert state.caching.view is None
    state.caching.wanted = True
    await state.set(call=1)
    assert state.caching.view.call == 1
    await state.set(call=2)
    assert state.caching.view == await state.cache()


def beginning(one, other):
    """By the definition, sign for sign."""
    equal = [a == b for a, b in zip(one, other, strict=False)]
    return one[: (*equal, False).index(False)]


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_common_is_the_longest_equal_beginning(one, other):
    assert common(one, other) == beginning(one, other)


TALK = st.lists(st.sampled_from(["latex", "no", "is it latex?", "yes"]), min_size=1, max_size=7)


@given(TALK, st.sampled_from(["prepend", "append"]))
def test_it_is_what_the_inputs_of_two_calls_begin_with(talk, placement):
    async def run():
        state = bench(talk if len(talk) % 2 else talk[1:] or talk)
        await state.settled()
        view, call = await state.cache(), state.call
        inputs = []
        for number in (call - 1, call):
            if number < 1:
                return
            trace = await state.set(call=number)
            folded = fold(state.seen, trace.text, placement) if trace.injected else None
            inputs.append(serialised(folded or state.seen))
        assert view.kept[placement] == len(beginning(*inputs))
        assert view.tokens[placement] == len(inputs[1])
        state.close()

    import asyncio

    asyncio.run(run())


@pytest.mark.parametrize("block", [{"toolUse": {"input": {"b": 1, "a": 2}}}, {"text": 3}])
def test_blocks_without_text_are_compared_as_json(block):
    assert serialised([{"role": "assistant", "content": [block]}]).startswith("\nassistant:\n{")


@pytest.mark.parametrize(("one", "other"), [("I like museums", "I like music"), ("say hello", "say helloworld there")])
def test_a_token_that_the_texts_part_in_is_not_kept(one, other):
    pytest.importorskip("bpe_openai", reason="bpe-openai is of the extra `tokens`.")
    counter = bpe("o200k_base")
    assert equal_tokens(one, other, counter) == len(beginning(counter.encode(one), counter.encode(other)))
    assert equal_tokens(one, one, counter) == counter.count(one)
