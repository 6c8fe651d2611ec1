"""Models on both sides: a provider of the SDK as memwb's model, and a scripted one for agents without a key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..._text import counted
from ...errors import ConfigError, MemwbError
from ...memory.messages import copied
from ...memory.types import Message


class StrandsModel:
    """A model provider of the Strands SDK as memwb's :class:`~memwb.memory.Model`.

    It has the provider's own attributes too, so that an extractor of the SDK can use it as one.

    Attributes:
        provider: The provider.
    """

    def __init__(self, provider: Any) -> None:
        self.provider = provider

    def __repr__(self) -> str:
        return f"StrandsModel({type(self.provider).__name__})"

    def __getattr__(self, name: str) -> Any:
        if name == "provider":  # not yet there, as in a copy that is being made
            raise AttributeError(name)
        return getattr(self.provider, name)

    async def complete(self, system: str, messages: Sequence[Message]) -> str:
        """Return the text of the model's answer to ``messages`` under the system prompt.

        The answer is read from the provider's own stream; what it thinks aloud is no part of it. An answer that the
        provider cuts off (at its most tokens, say) is returned as far as it goes.

        Raises:
            Exception: What the provider raises, as it is.
        """
        parts: list[str] = []
        async for event in self.provider.stream(list(messages), None, system):
            text = event.get("contentBlockDelta", {}).get("delta", {}).get("text")
            if isinstance(text, str):
                parts.append(text)
        return "".join(parts)


def model(strands_model: Any) -> StrandsModel:
    """Return a model provider of the Strands SDK as a model for memwb's extraction and summaries.

    Every provider that the SDK has works here, so memwb needs none of its own::

        ModelExtractor(model=bridge.strands.model(OpenAIModel(model_id="...")))

    It works on any event loop, as far as the provider does. A provider in an agent needs no such step: an extractor
    without a model takes the agent's.

    Raises:
        ConfigError: It is no provider: it has no ``stream``.
    """
    if not callable(getattr(strands_model, "stream", None)):
        hint = " Strands takes a text as a Bedrock model's id: BedrockModel(model_id=...)."
        raise ConfigError(
            f"bridge.strands.model: {type(strands_model).__name__} {strands_model!r:.80} is no model provider of the "
            f"Strands SDK: it has no method stream.{hint if isinstance(strands_model, str) else ''}",
            key="model",
            value=strands_model,
        )
    return StrandsModel(strands_model)


class Asked(NamedTuple):
    """What a model was given at one call.

    Attributes:
        system: The system prompt; None without one.
        messages: A copy of the messages.
        tools: The names of the tools that it could call.
    """

    system: str | None
    messages: list[Message]
    tools: tuple[str, ...]


def scripted(answers: Sequence[Any] | Callable[[Asked], Any]) -> Any:
    """Return a model provider for the SDK that follows a script: an agent without a key, a network or chance.

    ::

        Agent(model=scripted(["Hello!", [{"toolUse": {"name": "search_memory", "input": {"query": "tea"}}}], "Green."]))

    Args:
        answers: For each call a text, a list of content blocks (texts and calls of tools) or an exception, which is
            raised; or a function that gives one for what was asked.

    Returns:
        A ``strands.models.Model`` whose ``asked`` lists what it was given: the input of an agent's model, as it is.

    Raises:
        ConfigError: ``answers`` is neither a list nor a function, or one of the answers is none.
    """
    _check_script(answers)
    from strands.models import Model

    class Scripted(Model):  # type: ignore[misc]  # no types of the SDK are read
        def __init__(self) -> None:
            self.asked: list[Asked] = []

        def __repr__(self) -> str:
            return f"scripted(asked {len(self.asked)} times)"

        def update_config(self, **model_config: Any) -> None:
            pass

        def get_config(self) -> dict[str, Any]:
            return {}

        def structured_output(self, output_model: Any, prompt: Any, system_prompt: Any = None, **given: Any) -> Any:
            raise NotImplementedError("a scripted model gives structured output by calling its tool: script that call")

        async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **given: Any) -> Any:
            tools = tuple(spec["name"] for spec in tool_specs or ())
            self.asked.append(Asked(system_prompt, copied(messages), tools))
            blocks = _scripted_blocks(answers, self.asked)
            for event in _events(blocks, len(self.asked)):
                yield event

    return Scripted()


def _check_script(answers: Any) -> None:
    if callable(answers) and not isinstance(answers, type):
        return
    if isinstance(answers, str) or not isinstance(answers, Sequence):
        hint = f"; write scripted([{answers!r:.60}])" if isinstance(answers, str) else ""
        raise ConfigError(
            f"scripted: answers must be a list of answers or a function that gives one, not {answers!r:.80}{hint}.",
            key="answers",
            value=answers,
        )
    for number, answer in enumerate(answers, 1):
        _check_answer(answer, f"answer {number}")


def _check_answer(answer: Any, name: str) -> None:
    if isinstance(answer, str | BaseException):
        return
    if not isinstance(answer, Sequence) or not all(
        isinstance(block, Mapping) and ("toolUse" in block or isinstance(block.get("text"), str)) for block in answer
    ):
        raise ConfigError(
            f"scripted: {name} is {answer!r:.80}; an answer is a text, a list of blocks "
            '({"text": "..."} or {"toolUse": {"name": "...", "input": {...}}}) or an exception.',
            key="answers",
            value=answer,
        )


def _scripted_blocks(answers: Any, asked: Sequence[Asked]) -> list[dict[str, Any]]:
    """Return the blocks of the answer to the latest call."""
    if callable(answers):
        answer = answers(asked[-1])
    elif len(asked) <= len(answers):
        answer = answers[len(asked) - 1]
    else:
        held = counted(len(answers), "answer")
        raise MemwbError(f"scripted: call {len(asked)} has no answer, the script holds {held}. Give it more.")
    _check_answer(answer, f"answer {len(asked)}")
    if isinstance(answer, BaseException):
        raise answer
    return [{"text": answer}] if isinstance(answer, str) else list(answer)


def _events(blocks: Sequence[Mapping[str, Any]], call: int) -> Iterator[dict[str, Any]]:
    """Yield an answer as a provider streams it."""
    yield {"messageStart": {"role": "assistant"}}
    for at, block in enumerate(blocks, 1):
        use = block.get("toolUse")
        if use is None:
            start, delta = {}, {"text": block["text"]}
        else:
            start = {"toolUse": {"name": use["name"], "toolUseId": use.get("toolUseId", f"call-{call}-{at}")}}
            delta = {"toolUse": {"input": json.dumps(use.get("input", {}))}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
    yield {"messageStop": {"stopReason": "tool_use" if any("toolUse" in block for block in blocks) else "end_turn"}}
