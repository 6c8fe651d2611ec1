"""Two prompts on one transcript: what each makes of it. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._text import counted, shortened
from ..errors import ConfigError
from ..memory import ExtractionResult, ExtractorContext, ModelExtractor
from ..stores import Listable
from .asking import name_of
from .told import told

if TYPE_CHECKING:
    import pandas

    from ..memory import Message
    from .asking import Question


@dataclass(frozen=True)
class ComparedFact:
    """One fact, and which of the two prompts brought it.

    Attributes:
        content: Its text.
        a: Whether the first prompt brought it.
        b: Whether the second one did.
        held_by: The stores that hold the text already.
    """

    content: str
    a: bool
    b: bool
    held_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """Who was asked about what.

    Attributes:
        stores: The names of the stores whose settings these are.
        model: What the model is called.
        messages: How many messages the transcript had.
    """

    stores: tuple[str, ...]
    model: str
    messages: int


@dataclass(frozen=True)
class PromptComparison:
    """What two prompts make of one conversation.

    Attributes:
        prompts: The two, as they were given.
        answers: What was said to each, as it came; "" where that failed. Those of several models follow each other.
        problems: Why there is no answer, or why it is no use; "" where it is.
        facts: The facts of both, those of the first prompt first; equal texts are one fact.
        asked: Which model was asked for which stores, on how many messages.
    """

    prompts: tuple[str, str]
    answers: tuple[str, str]
    problems: tuple[str, str]
    facts: tuple[ComparedFact, ...]
    asked: tuple[Asked, ...]

    @property
    def sentence(self) -> str:
        """The outcome in one sentence; a prompt whose answer is no use has no facts to compare."""
        if any(self.problems):
            found = [sum(fact.a for fact in self.facts), sum(fact.b for fact in self.facts)]
            told = (
                f"{name}: failed, {shortened(problem, 200).rstrip('.')}"
                if problem
                else f"{name} finds {counted(facts, 'fact')}"
                for name, problem, facts in zip("AB", self.problems, found, strict=True)
            )
            return f"On {self._transcripts()}: {'; '.join(told)}; nothing can be compared."
        both = sum(fact.a and fact.b for fact in self.facts)
        first, second = (sum(found) for found in ([f.a for f in self.facts], [f.b for f in self.facts]))
        return (
            f"On {self._transcripts()}: A finds {counted(first, 'fact')}, B {second}; "
            f"{both} in both, {first - both} in A alone, {second - both} in B alone."
        )

    def _transcripts(self) -> str:
        if len({each.messages for each in self.asked}) == 1:
            return counted(self.asked[0].messages, "message")
        return ", ".join(
            f"{counted(each.messages, 'message')} for {' and '.join(map(repr, each.stores))}" for each in self.asked
        )

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each fact: content, a, b, held_by."""
        import pandas

        rows = [(fact.content, fact.a, fact.b, ", ".join(fact.held_by)) for fact in self.facts]
        return pandas.DataFrame(rows, columns=["content", "a", "b", "held_by"])

    def __repr__(self) -> str:
        return f"PromptComparison({self.sentence})"


class _Report:
    """Keeps what an extractor tells of one answer."""

    def __init__(self) -> None:
        self.answer, self.problem = "", ""

    def asked(self, system: str, transcript: str) -> None:
        return

    def answered(self, text: str, seconds: float) -> None:
        self.answer = text

    def noted(self, note: str) -> None:
        return

    def unreadable(self, text: str, reason: str) -> None:
        self.problem = reason


async def compare_prompts(
    questions: Sequence[Question], prompts: tuple[str, str], stores: Sequence[Any] = ()
) -> PromptComparison:
    """Ask for the facts in the same messages under two prompts; nothing is written.

    Args:
        questions: Each is asked twice; the facts that its answers bring count together.
        prompts: Blank text stands for the default prompt.
        stores: Looked through for texts that they hold already, as far as they can list what they hold.

    Raises:
        ConfigError: A prompt is no text; the model was not asked.
    """
    import asyncio

    for name, prompt in zip("ab", prompts, strict=True):
        if not isinstance(prompt, str):
            raise ConfigError(
                f"Extraction: prompt_{name} must be a text, not {shortened(repr(prompt), 80)}; '' is the default one.",
                key=f"prompt_{name}",
                value=prompt,
            )
    asked = tuple(Asked(each.stores, name_of(each.model), len(each.messages)) for each in questions)
    sides = await asyncio.gather(*(_side(questions, prompt) for prompt in prompts))
    (first, *_), (second, *_) = sides
    contents = list(dict.fromkeys([*first, *second]))
    held = await _holders(stores, contents)
    facts = tuple(ComparedFact(text, text in first, text in second, held.get(text, ())) for text in contents)
    answers, problems = (sides[0][1], sides[1][1]), (sides[0][2], sides[1][2])
    return PromptComparison(prompts, answers, problems, facts, asked)


async def _side(questions: Sequence[Question], prompt: str) -> tuple[list[str], str, str]:
    """Return the facts, the answers and the problems that a prompt brings."""
    import asyncio

    reports = [_Report() for _ in questions]
    found = await asyncio.gather(
        *(_found(each.model, each.messages, prompt, report) for each, report in zip(questions, reports, strict=True))
    )
    problems = [
        f"{name_of(each.model)}: {report.problem}" if len(questions) > 1 else report.problem
        for each, report in zip(questions, reports, strict=True)
        if report.problem
    ]
    answers = "\n\n".join(report.answer for report in reports if report.answer)
    return [fact.content for facts in found for fact in facts], answers, "; ".join(problems)


async def _found(model: Any, messages: Sequence[Message], prompt: str, report: _Report) -> list[ExtractionResult]:
    try:
        context = ExtractorContext(default_model=model, report=report)
        return await ModelExtractor(model, prompt if prompt.strip() else None).extract(list(messages), context)
    except Exception as error:  # one prompt that fails must not hide what the other one brings
        report.problem = told(error)
        return []


async def _holders(stores: Sequence[Any], contents: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return which stores hold a text already."""
    held: dict[str, tuple[str, ...]] = {}
    for store in (store for store in stores if isinstance(store, Listable)):
        known = {record.content.strip() for record in await store.page(0, max(1, await store.count()))}
        for text in contents:
            if text.strip() in known:
                held[text] = (*held.get(text, ()), getattr(store, "name", ""))
    return held
