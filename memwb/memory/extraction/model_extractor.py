"""Asks a language model for the facts in a piece of conversation."""

from __future__ import annotations

import logging
from time import perf_counter
from typing import TYPE_CHECKING

from ..._text import quoted
from ...errors import ConfigError
from .answers import read_answer
from .types import ExtractionResult, ExtractorContext

if TYPE_CHECKING:
    from ..types import Message, Model

_log = logging.getLogger("memwb.memory")

DEFAULT_SYSTEM_PROMPT = (
    "You read the transcript of a conversation and pick out what is worth knowing in later conversations: preferences, "
    "decisions, and lasting details about the user or the work.\n"
    "Write each as one statement that can be understood on its own. Leave out small talk, questions, and whatever "
    "goes without saying."
)
"""What counts as a fact, where nothing else is said."""

OUTPUT_FORMAT = (
    'Answer with a JSON array alone, each item an object {"content": string} that holds one statement. '
    "Answer with [] where nothing is worth keeping."
)
"""The form in which the answer is read; it follows every system prompt."""


class ModelExtractor:
    """An extractor that asks a model.

    Args:
        model: Anything with ``async complete(system, messages) -> str``. Default: the agent's ``aux_model`` where it
            has one, else its ``model``.
        system_prompt: What counts as a fact. The required output format always follows it.

    Attributes:
        model: As given; may be changed between two extractions.
        system_prompt: As given, else :data:`DEFAULT_SYSTEM_PROMPT`; may be changed likewise.
    """

    def __init__(self, model: Model | None = None, system_prompt: str | None = None) -> None:
        self.model = model
        self.system_prompt = system_prompt or DEFAULT_SYSTEM_PROMPT

    @property
    def system(self) -> str:
        """The whole system prompt that a model gets."""
        return f"{self.system_prompt}\n\n{OUTPUT_FORMAT}"

    async def extract(self, messages: list[Message], context: ExtractorContext | None = None) -> list[ExtractionResult]:
        """Return the facts that the model finds in the messages.

        An answer in which no list of facts can be read gives none, with a warning, and is reported to the context.

        Raises:
            ConfigError: There is no model, or it is none.
            TypeError: The model's answer is no text.
            Exception: What the model raises.
        """
        model = self._model(context)
        if not messages:
            return []
        report = context.report if context else None
        system, asked = self.system, transcript(messages)
        if report:
            report.asked(system, asked)
        began = perf_counter()
        answer = await model.complete(system, [{"role": "user", "content": [{"text": asked}]}])
        if not isinstance(answer, str):
            raise TypeError(f"ModelExtractor: {type(model).__name__} answered with {type(answer).__name__}, no text")
        if report:
            report.answered(answer, perf_counter() - began)
        read = read_answer(answer)
        for note in read.notes if report else ():
            assert report is not None
            report.noted(note)
        if read.unreadable:
            _log.warning(
                "ModelExtractor: no list of facts in the answer %s: %s. Where a manager asked, its retry_unreadable() "
                "extracts these messages again.",
                quoted(answer),
                read.unreadable,
            )
            if report:
                report.unreadable(answer, read.unreadable)
        return read.facts

    def _model(self, context: ExtractorContext | None) -> Model:
        model: Model | None = self.model or (context.default_model if context else None)
        if model is None:
            raise ConfigError(
                "ModelExtractor: no model. Give it one, ModelExtractor(model=...), or an agent that has a model.",
                key="model",
            )
        if not callable(getattr(model, "complete", None)):
            raise ConfigError(
                f"ModelExtractor: {type(model).__name__} has no complete(system, messages). A model of the Strands SDK "
                "becomes one by memwb.bridge.strands.model(...).",
                key="model",
                value=model,
            )
        return model

    def __repr__(self) -> str:
        prompt = "" if self.system_prompt == DEFAULT_SYSTEM_PROMPT else f", system_prompt={quoted(self.system_prompt)}"
        return f"ModelExtractor({'default model' if self.model is None else type(self.model).__name__}{prompt})"


def transcript(messages: list[Message]) -> str:
    """Return the user turn that a model gets: each message as ``role: text``, its text blocks joined by line breaks."""
    lines = []
    for message in messages:
        words = "\n".join(block["text"] for block in message["content"] if block.get("text"))
        lines.append(f"{message['role']}: {words}")
    return "Which facts are in this transcript?\n\n" + "\n".join(lines)
