"""Ready query callbacks, for a workbench and for agents.

Each takes the callback's context alone and returns text or None, so it can be handed to
``MemoryManager(stores, injection={"query": callbacks.last_two_messages})``, here or in the Strands Agents SDK.
"""

from __future__ import annotations

from .memory.queries import last_two_messages, latest_user_message, latest_without_stop_words, whole_history

__all__ = ["last_two_messages", "latest_user_message", "latest_without_stop_words", "whole_history"]
