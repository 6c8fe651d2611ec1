"""Vectors from any model of the package sentence-transformers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from .embedder import Vectors


class SentenceTransformersEmbedder:
    """A model of sentence-transformers, which needs ``pip install "memwb[sentence-transformers]"`` and brings torch.

    ::

        embedder = SentenceTransformersEmbedder("all-mpnet-base-v2")

    Args:
        model: A model's name or folder, loaded now (a name may be downloaded), or a SentenceTransformer.
        batch: The texts that go through the model together.

    Raises:
        ConfigError: The package is missing, or the model does not tell how many dimensions it has.
    """

    def __init__(self, model: Any, *, batch: int = 32) -> None:
        named = str(model)
        if isinstance(model, str | os.PathLike):
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                raise ConfigError(
                    "SentenceTransformersEmbedder needs the package sentence-transformers: "
                    "pip install 'memwb[sentence-transformers]'.",
                    key="embedder",
                    value="sentence_transformers",
                ) from error
            model = SentenceTransformer(named)
        else:
            card = getattr(model, "model_card_data", None)
            named = str(getattr(card, "base_model", None) or type(model).__name__)
        dimensions = model.get_sentence_embedding_dimension()
        if not isinstance(dimensions, int):
            raise ConfigError(
                f"SentenceTransformersEmbedder: {named!r} does not tell how many dimensions its vectors have.",
                key="model",
                value=named,
            )
        self.name, self.dimensions, self.batch = f"sentence-transformers {named}", dimensions, batch
        self._model = model

    def __repr__(self) -> str:
        return f"SentenceTransformersEmbedder({self.name.partition(' ')[2]!r})"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors; the event loop runs meanwhile."""
        import asyncio

        import numpy

        def encoded() -> Any:
            return self._model.encode(
                list(texts),
                batch_size=self.batch,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )

        if not texts:
            return numpy.zeros((0, self.dimensions), numpy.float32)
        return numpy.asarray(await asyncio.to_thread(encoded), numpy.float32)
