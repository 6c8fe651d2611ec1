"""Query callbacks that ship with memwb, also tried when ``why`` looks for a change that brings an entry in.

Each takes an :class:`~memwb.memory.InjectionQueryContext` alone and returns text or None, so it runs in an agent as
it runs here.
"""

from __future__ import annotations

from collections.abc import Sequence

from .messages import text
from .types import InjectionQueryContext, Message


def latest_user_message(context: InjectionQueryContext) -> str | None:
    """Search for the text of the latest user message that has any: within a tool loop, what the user asked last."""
    return _said_last(context.messages)


def last_two_messages(context: InjectionQueryContext) -> str | None:
    """Search for the last two messages' text: what the user says, and what it answers."""
    return "\n".join(filter(None, map(text, context.messages[-2:])))


def whole_history(context: InjectionQueryContext) -> str | None:
    """Search for everything said so far."""
    return "\n".join(filter(None, map(text, context.messages)))


def latest_without_stop_words(context: InjectionQueryContext) -> str | None:
    """Search for those words of the latest user message with text that are no English stop words, in their order."""
    from ..ranking import STOP_WORDS, query_tokens

    said = query_tokens(_said_last(context.messages) or "")
    return " ".join([word for word in said if word not in STOP_WORDS])


def _said_last(messages: Sequence[Message]) -> str | None:
    """Return the text of the latest user message that has text of its own; a tool's result is none."""
    said = (text(message) for message in reversed(messages) if message["role"] == "user")
    return next(filter(None, said), None)
