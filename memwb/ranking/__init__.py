"""Lexical ranking: tokens, overlap and stop words. Pure functions, without files or clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .index import Index, order_of
from .overlap import overlap, rank
from .stopwords import STOP_WORDS, STOP_WORDS_NAME
from .tokens import Tokenizer, held, padded, query_tokens, tokenize

if TYPE_CHECKING:
    from .scripts import tokenize_any_script, tokenize_without_stop_words

__all__ = [
    "STOP_WORDS",
    "STOP_WORDS_NAME",
    "Index",
    "Tokenizer",
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
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
