"""Models without a key or a network: one that follows a script, and one that fails as it is told."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._text import counted, quoted
from ..errors import NoAnswerError
from ..memory.messages import copied, text
from ._faults import Faults, Schedule, check_slow_and_error, refused, wait_forever

if TYPE_CHECKING:
    from ..memory import Message

Answer = Any
"""A text; an exception, which is raised; anything else is answered as JSON, the form that an extraction reads."""

Rule = Callable[[str, "list[Message]"], "Answer | Awaitable[Answer]"]


class ModelCall(NamedTuple):
    """What a model was asked.

    Attributes:
        system: The system prompt.
        messages: A copy of the messages.
    """

    system: str
    messages: list[Message]

    @property
    def text(self) -> str:
        """The text of all messages, one after another."""
        return "\n".join(filter(None, map(text, self.messages)))


class ScriptedModel:
    """A model whose answers are known beforehand.

    ::

        ScriptedModel(["first answer", "second answer"])                       # in order
        ScriptedModel({"latex": [{"content": "The user is allergic to latex."}], "": []})   # by what was asked
        ScriptedModel(lambda system, messages: f"{len(messages)} messages")    # by a rule

    An answer is a text. An exception (or its class) is raised instead. Anything else is answered as JSON, which is what
    an extraction reads: ``[]`` says that there is nothing to remember.

    Args:
        answers: A list of answers, given one after another; or a mapping from a text to an answer, where the first
            text counts that the messages hold, and ``""`` stands for any; or a function of the system prompt and the
            messages, async or not.

    Attributes:
        asked: What it was asked, in order: ``(system, messages)`` with the joined texts of the messages as ``text``.
    """

    def __init__(self, answers: Sequence[Answer] | Mapping[str, Answer] | Rule) -> None:
        self.asked: list[ModelCall] = []
        self._left: deque[Answer] | None = None
        if callable(answers):
            self._rule: Rule = answers
        elif isinstance(answers, Mapping):
            for wanted in answers:
                if not isinstance(wanted, str):
                    raise refused("ScriptedModel: each key of answers", wanted, "a text that was asked", "answers")
            self._rule = _chooser(dict(answers))
        elif not isinstance(answers, Sequence):
            raise refused("ScriptedModel: answers", answers, "a list, a mapping or a function", "answers")
        elif isinstance(answers, str):
            raise TypeError(f"ScriptedModel: answers must be a list, a mapping or a function; write [{answers!r}].")
        else:
            self._left = deque(answers)
            self._rule = self._next

    async def complete(self, system: str, messages: list[Message]) -> str:
        """Answer, and note down what was asked.

        Raises:
            NoAnswerError: The script holds no answer to this call.
        """
        self.asked.append(ModelCall(system, copied(list(messages))))
        answer = self._rule(system, messages)
        if isinstance(answer, Awaitable):
            answer = await answer
        if isinstance(answer, BaseException) or (isinstance(answer, type) and issubclass(answer, BaseException)):
            raise answer
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def _next(self, system: str, messages: list[Message]) -> Answer:
        assert self._left is not None
        if not self._left:
            held = counted(len(self.asked) - 1, "answer")
            raise NoAnswerError(
                f"ScriptedModel: call {len(self.asked)} has no answer, the script holds {held}. It was asked "
                f"{quoted(self.asked[-1].text)}. Give it more answers, or a function that answers any call.",
                self.asked[-1],
            )
        return self._left.popleft()

    def __repr__(self) -> str:
        left = "" if self._left is None else f", {counted(len(self._left), 'answer')} left"
        return f"ScriptedModel(asked {counted(len(self.asked), 'time')}{left})"


def _chooser(answers: dict[str, Answer]) -> Rule:
    def choose(system: str, messages: list[Message]) -> Answer:
        asked = ModelCall(system, messages)
        for wanted, answer in answers.items():
            if wanted in asked.text:
                return answer
        known = ", ".join(quoted(wanted, 30) for wanted in answers) or "none"
        raise NoAnswerError(
            f"ScriptedModel: no text of the script is in {quoted(asked.text)}; it knows {known}. Add the text, or "
            "'' as the last one, which stands for any.",
            asked,
        )

    return choose


class FaultyModel:
    """A model that fails as it is told, the same at every run.

    The faults are ``"raise"`` (raises ``error``), ``"hang"`` (never answers; only a cancellation ends it), ``"slow"``
    (answers after ``seconds``), ``"empty"`` (answers ``""``) and ``"unreadable"`` (answers in prose, without what was
    asked for).

    Args:
        model: Answers where nothing is to fail; None answers ``"[]"``, nothing to remember.
        faults: A fault, which each call has; or a list of faults, one a call, ``"ok"`` for none, and none after its
            end; or a mapping from faults to their shares of all calls, drawn by ``seed``.
        seed: Of the drawing.
        seconds: How long a slow call takes.
        error: What ``"raise"`` raises; default a ConnectionError.

    Attributes:
        faults: What each call so far had, ``"ok"`` where it had none.

    Raises:
        ConfigError: An unknown fault, or shares that are no shares.
    """

    FAULTS = ("raise", "hang", "slow", "empty", "unreadable")

    def __init__(
        self,
        model: Any = None,
        faults: Schedule = "raise",
        *,
        seed: int = 0,
        seconds: float = 0.05,
        error: BaseException | None = None,
    ) -> None:
        if model is not None and not callable(getattr(model, "complete", None)):
            allowed = "a model with 'async complete(system, messages)', or None"
            raise refused("FaultyModel: model", model, allowed, "model")
        check_slow_and_error("FaultyModel", seconds, error)
        self._model, self._seconds = model, seconds
        self._error = error or ConnectionError("the model cannot be reached")
        self._schedule: Iterator[str] = Faults(faults, self.FAULTS, f"{seed}", "FaultyModel: faults")
        self.faults: list[str] = []

    async def complete(self, system: str, messages: list[Message]) -> str:
        """Answer, or fail as it is this call's turn to."""
        fault = next(self._schedule)
        self.faults.append(fault)
        if fault == "raise":
            raise self._error
        if fault == "hang":
            await wait_forever()
        if fault == "slow":
            import asyncio

            await asyncio.sleep(self._seconds)
        if fault == "empty":
            return ""
        if fault == "unreadable":
            return "I looked for facts worth keeping and will tell you about them now:"
        return "[]" if self._model is None else str(await self._model.complete(system, messages))

    def __repr__(self) -> str:
        failed = sum(fault != "ok" for fault in self.faults)
        return f"FaultyModel({counted(len(self.faults), 'call')}, {failed} with a fault)"
