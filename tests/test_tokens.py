"""Token counters: the estimate, an exact one, and where the workbench uses them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memwb import tokens
from memwb.errors import ConfigError
from memwb.stores import TestMemoryStore
from memwb.workbench.state import WorkbenchState
from memwb.workbench.timeline import TimelineState

FACT = "I am allergic to latex."


class Words:
    """Counts words, as a person would for a test."""

    name, exact = "words", True

    def count(self, text):
        return len(text.split())


def test_without_a_package_tokens_are_estimated_and_shown_so():
    assert [tokens.ESTIMATE.count(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
    assert tokens.sized(tokens.ESTIMATE, 1234) == "~1,234"
    assert tokens.sized(Words(), 1234) == "1,234"
    assert tokens.sized(tokens.ESTIMATE, 0) == "0"


def test_bpe_counts_as_the_models_do_and_offline():
    pytest.importorskip("bpe_openai", reason="bpe-openai is of the extra `tokens`.")

    counter = tokens.bpe("cl100k_base")
    assert (counter.name, counter.exact) == ("cl100k_base", True)
    assert counter.count("hello world") == 2  # the example of OpenAI's cookbook
    assert counter.count("<|endoftext|>") > 1  # memory text is text, whatever it spells
    assert counter.count("bad \ud83d end") == counter.count("bad ? end")
    with pytest.raises(ConfigError, match=r"no encoding 'o200k'; there are .*o200k_base.* Did you mean"):
        tokens.bpe("o200k")


def test_without_its_package_bpe_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    tokens.bpe.cache_clear()
    with pytest.raises(ConfigError, match=r'pip install "memwb\[tokens\]"'):
        tokens.bpe()
    assert tokens.counter_named("o200k_base") is tokens.ESTIMATE


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "token_counter is 3; it must have a name"),
        (len, "it must have a name"),
        (type("Odd", (), {"name": "odd", "exact": True, "count": lambda self, text: "7"})(), "gave '7', which is no"),
        (type("Odd", (), {"name": "odd", "exact": True, "count": lambda self, text: 1 / 0})(), "raised ZeroDivision"),
    ],
)
def test_what_is_no_counter_is_refused_when_it_is_given(given, said):
    with pytest.raises(ConfigError, match=said) as refused:
        WorkbenchState([FACT], "latex?", token_counter=given)
    assert (refused.value.key, refused.value.value) == ("token_counter", given)


async def test_the_chosen_counter_counts_everything_that_the_workbench_says():
    store = TestMemoryStore.from_records([FACT], name="notes")
    state = WorkbenchState(store, ["latex?", "Yes.", "latex again?"])
    await state.settled()
    assert (state.preview.tokens, state.preview.size) == (18, "~18")
    assert state.preview.verdict.sentence == "1 of 1 hit arrived, ~18 tokens."

    await state.set(token_counter=Words())
    assert (state.preview.tokens, state.preview.size) == (8, "8")
    assert state.preview.verdict.sentence == "1 of 1 hit arrived, 8 tokens."
    timeline = TimelineState(state)
    await timeline.settled()
    assert [call.tokens for call in timeline.timeline.calls] == [8, 8]
    assert timeline.timeline.headline == "The same fact in 2 calls: 16 tokens."
    comparison = await state.arms.compare(calls="all")
    assert comparison.totals("now")["tokens"] == 16
    assert repr(comparison.calls[0].outcomes[0]) == "Outcome('now': 1 entry, 8 tokens)"

    await state.set(token_counter=None)
    assert state.preview.size == "~18"


def test_the_package_may_open_its_files_in_an_old_way_when_it_is_loaded() -> None:
    pytest.importorskip("bpe_openai", reason="the exact counter's package, of the extra `tokens`")
    code = "from memwb import tokens; print(tokens.bpe('cl100k_base').count('a cane'))"
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout.strip(), ran.stderr) == ("2", "")
