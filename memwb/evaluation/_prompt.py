"""Which of the entries that survived the cut stand in the text that the model gets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape

from ..memory import InjectionTrace, MemoryEntry

_WORDS = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_BLANKS = frozenset("nrtbf")


def in_prompt(trace: InjectionTrace) -> Sequence[MemoryEntry]:
    """Return the entries that reached the prompt, in the order in which they were given to the format.

    Without a format that is every entry that survived the cut. A format of the user's may leave some out: then an
    entry has reached the prompt when its words stand there, all and in their order; case, punctuation, spaces and the
    escapes of XML and JSON do not count. A format that shortens or rewords entries is so taken to leave them out.
    """
    if not trace.injected:
        return ()
    if trace.settings is None or trace.settings.format is None:
        return trace.entries
    texts = [_worded(text) for text in _readings(trace.text or "")]
    return [entry for entry in trace.entries if any(_worded(entry.content) in text for text in texts)]


def _readings(text: str) -> Iterator[str]:
    """Yield the text as it is, and as it reads without the escapes of XML and of JSON."""
    yield text
    if "&" in text:
        yield unescape(text)
    if "\\" in text:
        yield _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    code, character = match.groups()
    if code:
        return chr(int(code, 16))
    return " " if character in _BLANKS else str(character)


def _worded(text: str) -> str:
    return f" {' '.join(_WORDS.findall(text.casefold()))} "
