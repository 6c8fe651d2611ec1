"""memwb's own callbacks as source that needs nothing of memwb, for modules that are written out."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .. import callbacks
from ..ranking import STOP_WORDS, stopwords

_TEXT = '''\
def text_of(message):
    """Return the text of a message: its text blocks, joined and stripped."""
    return "\\n".join(block["text"] for block in message["content"] if "text" in block).strip()
'''

_SAID = '''\
def said_last(messages):
    """Return the text of the latest message of the user that has any; None without one."""
    said = (text_of(message) for message in reversed(messages) if message["role"] == "user")
    return next(filter(None, said), None)
'''

_LATEST = '''\
def latest_user_message(context):
    """Search for what the user said last."""
    return said_last(context.messages)
'''

_LAST_TWO = '''\
def last_two_messages(context):
    """Search for the text of the last two messages."""
    return "\\n".join(filter(None, map(text_of, context.messages[-2:])))
'''

_WHOLE = '''\
def whole_history(context):
    """Search for everything said so far."""
    return "\\n".join(filter(None, map(text_of, context.messages)))
'''

_WITHOUT = '''\
def latest_without_stop_words(context):
    """Search for what the user said last, without the words that say little."""
    import re

    said = said_last(context.messages) or ""
    words = set(re.findall(r"\\w+", said.lower())) - STOP_WORDS
    return " ".join(sorted(words, key=lambda word: (said.lower().find(word), word)))
'''


def _stop_words() -> str:
    """Return the list with the note that its licence asks for."""
    lines = inspect.cleandoc(stopwords.__doc__ or "").splitlines()
    note = "\n".join(f"# {line}".rstrip() for line in lines)
    words = textwrap.fill(" ".join(sorted(STOP_WORDS)), 108, initial_indent="    ", subsequent_indent="    ")
    return f'{note}\nSTOP_WORDS = frozenset(\n    """\n{words}\n    """.split()\n)\n'


GALLERY: dict[Callable[..., Any], tuple[str, ...]] = {
    callbacks.latest_user_message: (_TEXT, _SAID, _LATEST),
    callbacks.last_two_messages: (_TEXT, _LAST_TWO),
    callbacks.whole_history: (_TEXT, _WHOLE),
    callbacks.latest_without_stop_words: (_TEXT, _stop_words(), _SAID, _WITHOUT),
}
"""Each ready callback with the pieces of source that it needs, itself last."""
