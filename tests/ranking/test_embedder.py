"""Vectors without a model, and what is checked of those that a model gives."""

from __future__ import annotations

import asyncio

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.ranking import Embedder, HashingEmbedder
from memwb.ranking.embedder import embedded


class Given:
    """An embedder that gives whatever it was told to."""

    name = "given"
    dimensions = 2

    def __init__(self, vectors):
        self.vectors = vectors

    async def embed(self, texts):
        return self.vectors


async def test_texts_of_the_same_words_have_the_same_vector_and_others_a_different_one():
    embedder = HashingEmbedder()

    vectors = await embedder.embed(["Green tea!", "tea, green", "black coffee"])

    assert isinstance(embedder, Embedder)
    assert (vectors.shape, vectors.dtype) == ((3, 256), numpy.float32)
    assert (vectors @ vectors.T).round(6).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


async def test_the_vectors_are_the_same_on_every_machine():
    vectors = await HashingEmbedder(1000).embed(["green", "tea"])

    assert [int(row.argmax()) for row in vectors] == [448, 704]


@given(st.lists(st.text(st.characters()), max_size=5), st.integers(1, 9))
def test_every_vector_has_the_length_one(texts, dimensions):
    vectors = asyncio.run(embedded(HashingEmbedder(dimensions), texts))

    assert vectors.shape == (len(texts), dimensions)
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("dimensions", [0, -1, 2.0, True, "256"])
def test_dimensions_that_cannot_be_are_refused(dimensions):
    with pytest.raises(ConfigError, match=r"dimensions is .*; it must be a whole number, at least 1"):
        HashingEmbedder(dimensions)


async def test_vectors_of_another_length_are_brought_to_one_and_others_left():
    assert (await embedded(Given([[3, 4], [0.6, 0.8]]), ["a", "b"])).tolist() == [
        [numpy.float32(0.6), numpy.float32(0.8)]
    ] * 2


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1, 0]], "an array of shape (1, 2) for 2 texts; (2, 2) is due."),
        ([[1, 0, 0], [1, 0, 0]], "an array of shape (2, 3) for 2 texts; (2, 2) is due."),
        ([[1, 0], [0, 0]], "a vector of length 0.0 for 'b'; a vector must hold finite numbers that are not all 0."),
        ([[1, 0], [0, 1e999]], "a vector of length inf for 'b'; a vector must hold finite numbers that are not all 0."),
    ],
)
async def test_what_is_no_vector_for_each_text_is_refused_with_the_embedders_name(vectors, said):
    with pytest.raises(ConfigError) as caught:
        await embedded(Given(numpy.array(vectors)), ["a", "b"])

    assert str(caught.value) == f"The embedder 'given' gave {said}"


@pytest.mark.parametrize("vectors", ["none", [[1, 0], [1]], {"a": [1, 0]}, [["x", "y"], ["x", "y"]]])
async def test_what_is_no_array_of_numbers_is_refused_with_the_embedders_name(vectors):
    with pytest.raises(
        ConfigError, match=r"^The embedder 'given' gave .* for 2 texts; an array of shape \(2, 2\) is due"
    ):
        await embedded(Given(vectors), ["a", "b"])


async def test_an_embedder_that_does_not_wait_is_told_to():
    class AtOnce(Given):
        def embed(self, texts):
            return self.vectors

    with pytest.raises(ConfigError, match="The embedder 'given' gave list at once; its embed must be `async def`"):
        await embedded(AtOnce([[1, 0]]), ["a"])


async def test_an_array_of_the_embedders_own_is_not_changed():
    own = numpy.array([[3, 4]], numpy.float32)
    own.flags.writeable = False

    vectors = await embedded(Given(own), ["a"])

    assert vectors.tolist() == numpy.array([[0.6, 0.8]], numpy.float32).tolist()
    assert own.tolist() == [[3, 4]]
