"""Near texts are found by their normal form and by the words they share, in time for a screen."""

from __future__ import annotations

import itertools
import random
import time
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from memwb.ranking import tokenize
from memwb.ranking.near import near_groups, normal_form

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=8).map(" ".join)


def test_case_unicode_form_and_blanks_do_not_tell_texts_apart():
    accents = [unicodedata.normalize(form, "Café  noir") for form in ("NFC", "NFD")]
    texts = [*accents, "CAFÉ\u00a0NOIR\n", "café noir!", "Straße", "STRASSE", "ﬁne", "fine", "tea"]
    assert near_groups(texts) == [[0, 1, 2], [4, 5], [6, 7]]
    assert normal_form(" ﬁne\tTea ") == "fine tea"


def test_most_words_in_common_are_near_and_whoever_is_near_to_a_member_belongs_to_the_group():
    a = "the user likes green tea in the morning"
    texts = [a, "the user likes green tea every morning", f"{a} again", f"{a} again and", "the user likes coffee"]
    assert near_groups(texts) == [[0, 2, 3]]
    assert near_groups(texts, threshold=0.6) == [[0, 1, 2, 3]]


def test_one_or_two_words_in_common_are_no_sign():
    assert near_groups(["green tea", "tea green", "tea"], threshold=0.3) == []


def each_with_each(texts, threshold):
    words = [tokenize(text) for text in texts]
    group = list(range(len(texts)))
    for one, other in itertools.combinations(range(len(texts)), 2):
        shared, all_words = len(words[one] & words[other]), len(words[one] | words[other])
        few = min(len(words[one]), len(words[other])) < 3
        if normal_form(texts[one]) == normal_form(texts[other]) or (not few and shared >= threshold * all_words - 1e-9):
            old, new = group[other], group[one]
            group = [new if each == old else each for each in group]
    sets = [[place for place in range(len(texts)) if group[place] == root] for root in dict.fromkeys(group)]
    return [each for each in sets if len(each) > 1]


@given(st.lists(WORDS, max_size=12), st.sampled_from([0.05, 0.3, 0.5, 0.8, 1.0]))
def test_the_groups_are_those_of_comparing_each_with_each(texts, threshold):
    assert near_groups(texts, threshold=threshold) == each_with_each(texts, threshold)


@given(st.integers(0, 10**9), st.sampled_from([0.2, 0.5, 0.8, 0.9]), st.sampled_from([15, 40, 90]))
@settings(max_examples=30)
def test_the_groups_of_longer_texts_and_of_their_edited_copies_are_those_of_comparing_each_with_each(
    seed, threshold, longest
):
    source = random.Random(seed)
    texts = [" ".join(f"w{source.randrange(60)}" for _ in range(source.randint(3, longest))) for _ in range(15)]
    texts += [" ".join(word for word in text.split() if source.random() > 0.12) for text in texts]
    source.shuffle(texts)
    assert near_groups(texts, threshold=threshold) == each_with_each(texts, threshold)


def test_thousands_of_texts_take_a_moment_whether_their_words_are_many_or_few_or_all_the_same():
    source = random.Random(1)
    words = [f"w{number}" for number in range(24_000)]
    weights = list(itertools.accumulate(1 / number for number in range(1, 24_001)))
    many = [" ".join(source.choices(words, cum_weights=weights, k=source.randint(8, 40))) for _ in range(10_000)]
    few = [" ".join(source.sample(words[:200], source.randint(6, 10))) for _ in range(10_000)]
    pattern = [f"the user said that the brown fox jumped over lazy dogs near a river with {n}" for n in range(10_000)]
    for texts, groups in ((many, 0), (few, 0), (pattern, 1)):
        began = time.process_time()
        assert len(near_groups(texts)) == groups
        assert time.process_time() - began < 10  # a second on a quiet machine
