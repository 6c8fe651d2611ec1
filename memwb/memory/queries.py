"""Query callbacks that ship with memwb, also tried when ``why`` looks for a change that brings an entry in.

Each takes an :class:`~memwb.memory.InjectionQueryContext` alone and returns text or None, so it runs in an agent as
it runs here.
"""

from __future__ import annotations

from .messages import latest, text
from .types import InjectionQueryContext


def latest_user_message(context: InjectionQueryContext) -> str | None:
    """Search for the text of the latest user message, tool results aside."""
    message = latest(context.messages, "user")
    return text(message) if message else None


def last_two_messages(context: InjectionQueryContext) -> str | None:
    """Search for the last two messages' text: what the user says, and what it answers."""
    return "\n".join(filter(None, map(text, context.messages[-2:])))


def whole_history(context: InjectionQueryContext) -> str | None:
    """Search for everything said so far."""
    return "\n".join(filter(None, map(text, context.messages)))


def latest_without_stop_words(context: InjectionQueryContext) -> str | None:
    """Search for the words of the latest user message that are no English stop words, in their order."""
    from ..ranking import STOP_WORDS, tokenize

    message = latest(context.messages, "user")
    said = text(message) if message else ""
    words = sorted(tokenize(said) - STOP_WORDS, key=said.lower().find)
    return " ".join(words)
