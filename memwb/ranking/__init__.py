"""Lexical ranking: tokens, overlap and stop words. Pure functions, without files or clocks."""

from __future__ import annotations

from .overlap import overlap, rank
from .stopwords import STOP_WORDS, STOP_WORDS_NAME
from .tokens import Tokenizer, tokenize

__all__ = ["STOP_WORDS", "STOP_WORDS_NAME", "Tokenizer", "overlap", "rank", "tokenize"]
