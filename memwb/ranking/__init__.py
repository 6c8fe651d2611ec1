"""Ranking: tokens, overlap and stop words; vectors of texts; several rankings fused into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fusion import FUSION_K, fuse
from .index import Index, order_of
from .overlap import overlap, rank
from .stopwords import STOP_WORDS, STOP_WORDS_NAME
from .tokens import Tokenizer, held, padded, query_tokens, tokenize

if TYPE_CHECKING:
    from .embedder import Embedder, HashingEmbedder
    from .scripts import tokenize_any_script, tokenize_without_stop_words

__all__ = [
    "FUSION_K",
    "STOP_WORDS",
    "STOP_WORDS_NAME",
    "Embedder",
    "HashingEmbedder",
    "Index",
    "Tokenizer",
    "fuse",
    "held",
    "order_of",
    "overlap",
    "padded",
    "query_tokens",
    "rank",
    "tokenize",
    "tokenize_any_script",
    "tokenize_without_stop_words",
]


def __getattr__(name: str) -> Any:
    if name in ("tokenize_any_script", "tokenize_without_stop_words"):
        from . import scripts  # its patterns are made when they are needed first

        return getattr(scripts, name)
    if name in ("Embedder", "HashingEmbedder"):
        from . import embedder

        return getattr(embedder, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
