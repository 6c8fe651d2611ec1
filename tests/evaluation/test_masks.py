"""Words are masked so that a search by words finds what it found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwb.evaluation import WordMask
from memwb.evaluation._masks import in_messages
from memwb.ranking import STOP_WORDS, tokenize

KEY = b"a key"
TEXTS = st.text(alphabet=st.sampled_from("abcdeABé1 .,'\n-"), max_size=60)


def test_each_word_becomes_another_one_and_the_rest_of_the_text_stays():
    mask = WordMask(KEY)
    masked = mask("My cane broke!\n- The CANE, not the rug; Cane-free, 1943")
    words = {word: mask(word) for word in ("cane", "broke", "rug", "free", "1943")}

    assert masked == (
        f"My {words['cane']} {words['broke']}!\n- The {words['cane'].upper()}, not the {words['rug']}; "
        f"{words['cane'].capitalize()}-{words['free']}, {words['1943']}"
    )
    assert {word: len(mask) for word, mask in words.items()} == {"cane": 4, "broke": 5, "rug": 4, "free": 4, "1943": 4}
    assert not set(words) & set(words.values())


@given(st.lists(TEXTS, min_size=2, max_size=4))
def test_texts_share_as_many_words_as_before_and_the_same_stop_words(texts):
    mask = WordMask(KEY)
    masked = [mask(text) for text in texts]
    for one, two, one_masked, two_masked in zip(texts, texts[1:], masked, masked[1:], strict=False):
        assert len(tokenize(one) & tokenize(two)) == len(tokenize(one_masked) & tokenize(two_masked))
        assert tokenize(one) & STOP_WORDS == tokenize(one_masked) & STOP_WORDS


def test_a_key_gives_the_same_masks_again_and_none_is_a_new_one():
    assert WordMask(KEY)("a cane") == WordMask(KEY)("a cane")
    assert len({WordMask()("cane"), WordMask()("cane"), WordMask(KEY)("cane")}) == 3


def test_many_short_words_never_share_a_mask():
    mask = WordMask(KEY)
    words = [f"{number:03x}" for number in range(4096)]
    assert len({mask(word) for word in words}) == len(words)


def test_messages_keep_their_form():
    masked = in_messages(
        str.upper,
        [
            {"role": "user", "content": [{"text": "hello"}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "t1", "name": "find", "input": {"q": "cane"}}}],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"json": {"n": 1}}]}}]},
        ],
    )
    assert masked == [
        {"role": "user", "content": [{"text": "HELLO"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "find", "input": {"q": "CANE"}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"json": {"n": 1}}]}}]},
    ]
