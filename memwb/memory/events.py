"""What happens in an agent's life, as far as memory listens. A bridge maps these to an SDK's own events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .types import Message


@dataclass
class MessageAdded:
    """A message joined the agent's history."""

    agent: Any
    message: Message


@dataclass
class BeforeModelCall:
    """The model is about to be called with these messages."""

    agent: Any
    messages: list[Message]


@dataclass
class AfterInvocation:
    """The agent has finished answering one invocation."""

    agent: Any
