"""Ready callbacks, for a workbench and for agents: queries, formats, and filters to combine with formats.

A query takes the callback's context alone and returns text or None, a format returns the text to inject. They can be
handed to ``MemoryManager(stores, injection={"query": callbacks.last_two_messages, "format": callbacks.bullet_list})``,
here or in the Strands Agents SDK. A filter takes entries and returns those that stay::

    Filtered(bullet_list, no_duplicates, partial(score_floor, least=3))

``functools.partial`` changes what a callback takes beside its first argument, such as
``partial(token_budgeted, budget=300)``. The filter ``not_said`` leaves out what the conversation already says; since a
format does not see the conversation, the query of the same call has to remember it::

    {"query": Remembering(latest_user_message), "format": Filtered(default_block, not_said)}

Each is a few lines that stand alone: :func:`source_of` gives them as text. Whatever an entry holds, it cannot close its
line or its element, or open another one.
"""

from __future__ import annotations

from ..memory.queries import (
    last_two_messages,
    latest_user_message,
    latest_without_stop_words,
    question_with_answer,
    whole_history,
)
from .combined import Filtered, Remembering
from .filters import no_duplicates, not_said, remember, said, score_floor
from .formats import block_with_dates_and_ids, bullet_list, default_block, grouped_by_store, token_budgeted
from .source import source_of

__all__ = [
    "Filtered",
    "Remembering",
    "block_with_dates_and_ids",
    "bullet_list",
    "default_block",
    "grouped_by_store",
    "last_two_messages",
    "latest_user_message",
    "latest_without_stop_words",
    "no_duplicates",
    "not_said",
    "question_with_answer",
    "remember",
    "said",
    "score_floor",
    "source_of",
    "token_budgeted",
    "whole_history",
]
