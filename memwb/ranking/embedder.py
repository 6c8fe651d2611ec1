"""What turns texts into vectors, so that a search can go by meaning: texts that mean alike have vectors that lie near.

All vectors have the length 1, so the cosine similarity of two texts is the product of their vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ..errors import ConfigError
from .scripts import tokenize_any_script

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Vectors = NDArray[numpy.float32]

_LENGTH_OFF = 1e-3
"""A vector whose length is further than this from 1 is brought to it; nearer ones are left exactly as they came."""


@runtime_checkable
class Embedder(Protocol):
    """A model that gives each text a vector; anything of this shape is one, nothing has to be inherited.

    Attributes:
        name: Names the model and whatever else its vectors depend on: vectors are kept under it.
        dimensions: How many numbers a vector has.
    """

    name: str
    dimensions: int

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one float32 row of length 1 for each text, in their order: an array ``(len(texts), dimensions)``."""
        ...


class HashingEmbedder:
    """Vectors without a model: each word of a text counts at the place that its hash gives it.

    Texts are near where they share words, whatever these mean. It is for tests and for trying things out: the same on
    every machine, at once, and without a download.

    Args:
        dimensions: How many numbers a vector has; the fewer, the more often two words share a place.
    """

    def __init__(self, dimensions: int = 256) -> None:
        if not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 1:
            raise ConfigError(
                f"HashingEmbedder: dimensions is {dimensions!r:.80}; it must be a whole number, at least 1.",
                key="dimensions",
                value=dimensions,
            )
        self.dimensions = dimensions
        self.name = f"hashing-{dimensions}"

    def __repr__(self) -> str:
        return f"HashingEmbedder({self.dimensions})"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors; a text without words counts as one word of its own."""
        import hashlib

        import numpy

        vectors = numpy.zeros((len(texts), self.dimensions), numpy.float32)
        for row, text in enumerate(texts):
            for word in sorted(tokenize_any_script(text)) or [text]:
                digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                vectors[row, int.from_bytes(digest) % self.dimensions] += 1
        if len(texts):
            vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


async def embedded(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the vectors of texts as an embedder owes them, checked, as float32.

    Raises:
        ConfigError: They are not one row for each text, of ``dimensions`` finite numbers that are not all 0.
    """
    import inspect

    import numpy

    if not texts:
        return numpy.zeros((0, embedder.dimensions), numpy.float32)
    name, due = getattr(embedder, "name", embedder), (len(texts), embedder.dimensions)
    answer = embedder.embed(list(texts))
    if not inspect.isawaitable(answer):
        message = f"The embedder {name!r} gave {type(answer).__name__} at once; its embed must be `async def`."
        raise ConfigError(message, key="embedder", value=embedder)
    given = await answer
    try:
        with numpy.errstate(over="ignore"):  # what does not fit is infinite, which is refused below
            vectors = numpy.array(given, dtype=numpy.float32, order="C")  # a copy: what the embedder keeps is its own
    except (TypeError, ValueError) as error:
        message = f"The embedder {name!r} gave {given!r:.80} for {len(texts)} texts; an array of shape {due} is due."
        raise ConfigError(message, key="embedder", value=given) from error
    if vectors.shape != due:
        message = f"The embedder {name!r} gave an array of shape {vectors.shape} for {len(texts)} texts; {due} is due."
        raise ConfigError(message, key="embedder", value=vectors.shape)
    with numpy.errstate(over="ignore"):
        lengths = numpy.linalg.norm(vectors, axis=1)
    odd = numpy.flatnonzero(~numpy.isfinite(lengths) | (lengths == 0))
    if len(odd):
        message = (
            f"The embedder {name!r} gave a vector of length {lengths[odd[0]]} for {texts[odd[0]]!r:.80}; "
            "a vector must hold finite numbers that are not all 0."
        )
        raise ConfigError(message, key="embedder", value=texts[odd[0]])
    off = numpy.abs(lengths - 1) > _LENGTH_OFF
    vectors[off] /= lengths[off, None]
    return vectors
