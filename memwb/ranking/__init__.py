"""Lexical ranking: tokens, overlap and stop words. Pure functions, without files or clocks."""

from __future__ import annotations

from .index import Index, order_of
from .overlap import overlap, rank
from .stopwords import STOP_WORDS, STOP_WORDS_NAME
from .tokens import Tokenizer, held, padded, tokenize

__all__ = [
    "STOP_WORDS",
    "STOP_WORDS_NAME",
    "Index",
    "Tokenizer",
    "held",
    "order_of",
    "overlap",
    "padded",
    "rank",
    "tokenize",
]
