"""Ranking: tokens, overlap and stop words; vectors of texts; several rankings fused into one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fusion import FUSION_K, fuse
from .index import Index, order_of
from .overlap import overlap, rank
from .stopwords import STOP_WORDS, STOP_WORDS_NAME
from .tokens import Tokenizer, held, padded, query_tokens, tokenize

if TYPE_CHECKING:
    from .cached import CachedEmbedder
    from .embedder import Embedder, HashingEmbedder
    from .endpoint import EndpointEmbedder
    from .minilm import MiniLMEmbedder
    from .scripts import tokenize_any_script, tokenize_without_stop_words
    from .sentences import SentenceTransformersEmbedder

__all__ = [
    "FUSION_K",
    "STOP_WORDS",
    "STOP_WORDS_NAME",
    "CachedEmbedder",
    "Embedder",
    "EndpointEmbedder",
    "HashingEmbedder",
    "Index",
    "MiniLMEmbedder",
    "SentenceTransformersEmbedder",
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


_LATER = {
    "CachedEmbedder": "cached",
    "Embedder": "embedder",
    "EndpointEmbedder": "endpoint",
    "HashingEmbedder": "embedder",
    "MiniLMEmbedder": "minilm",
    "SentenceTransformersEmbedder": "sentences",
    "tokenize_any_script": "scripts",
    "tokenize_without_stop_words": "scripts",
}
"""Names whose module is loaded when they are needed first."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
