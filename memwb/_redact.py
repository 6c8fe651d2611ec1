"""Memory text made unreadable where it leaves the live page: in reprs, stills and exports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ._options import Redact, options
from .errors import ConfigError

__all__ = [
    "Redact",
    "fields_shown",
    "masked",
    "masked_data",
    "masked_words",
    "redactor",
    "shown",
    "texts_in",
    "without_quotes",
]

_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"""['"(].*['")]""", re.DOTALL)  # from the first sign that opens to the last that closes
_SIGN = "▒"


def redactor(redact: Redact) -> Callable[[str], str]:
    """Return what masks a text: True puts a sign in the place of each letter and digit, a function is used as it is."""
    if redact is True:
        return _hidden
    return _checked(redact) if redact else str


def _checked(redact: Callable[[str], str]) -> Callable[[str], str]:
    def mask(text: str) -> str:
        found = redact(text)
        if isinstance(found, str):
            return found
        told = f"redact: the function {redact!r:.60} returned {found!r:.60}; it must return the text to show."
        raise ConfigError(told, key="redact", value=redact)

    return mask


def masked(text: str) -> str:
    """Return a memory's text as it may be shown outside of the live page, by ``memwb.options(redact=...)``."""
    return redactor(options().redact)(text)


def shown(value: Any) -> Any:
    """Return plain data with all texts in it as they may be shown outside of the live page."""
    return masked_data(masked, value) if options().redact else value


def masked_words(sentence: str, texts: Iterable[str]) -> str:
    """Return a sentence of memwb's own that quotes memory texts, with every word of these masked.

    A word of the sentence that a text holds as well is masked too. A function of the user's gets the whole sentence.
    """
    redact = options().redact
    if redact is not True:
        return redactor(redact)(sentence)
    secret = {word.lower() for text in texts for word in _WORD.findall(text)}

    def word(match: re.Match[str]) -> str:
        found = match.group()
        cut = any(each.startswith(found.lower()) for each in secret)  # a quotation may end inside of a word
        return _hidden(found) if cut else found

    return _WORD.sub(word, sentence)


def fields_shown(thing: Any, *secret: str) -> str:
    """Return a dataclass's usual repr, with the texts in some fields as they may be shown outside of the live page."""
    values = {field.name: getattr(thing, field.name) for field in fields(thing)}
    parts = (f"{name}={(shown(value) if name in secret else value)!r}" for name, value in values.items())
    return f"{type(thing).__qualname__}({', '.join(parts)})"


def without_quotes(sentence: str) -> str:
    """Return a sentence of memwb's own that may quote data nobody could read; what it quotes is masked."""
    return _QUOTED.sub(lambda match: masked(match.group()), sentence) if options().redact else sentence


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts in plain data and in the fields of objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif is_dataclass(value):
        yield from texts_in(vars(value))


def masked_data(redact: Callable[[str], str], value: Any) -> Any:
    """Mask all texts in plain data; keys stay."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: masked_data(redact, each) for key, each in value.items()}
    return [masked_data(redact, each) for each in value] if isinstance(value, list | tuple) else value


def _hidden(text: str) -> str:
    return _WORD.sub(lambda match: _SIGN * len(match.group()), text)
