"""Two prompts on one transcript: what each makes of it. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .._text import counted, shortened
from ..errors import ConfigError
from ..memory import ExtractionResult, ExtractorContext, ModelExtractor
from ..stores import Listable
from .told import told

if TYPE_CHECKING:
    import pandas

    from ..memory import Message


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
class PromptComparison:
    """What two prompts make of one transcript.

    Attributes:
        prompts: The two, as they were given.
        answers: What the model said to each, as it came; "" where it failed.
        problems: Why there is no answer, or why it is no use; "" where it is.
        facts: The facts of both, those of the first prompt first; equal texts are one fact.
        messages: How many messages the transcript has.
    """

    prompts: tuple[str, str]
    answers: tuple[str, str]
    problems: tuple[str, str]
    facts: tuple[ComparedFact, ...]
    messages: int

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
            return f"On {counted(self.messages, 'message')}: {'; '.join(told)}; nothing can be compared."
        both = sum(fact.a and fact.b for fact in self.facts)
        first, second = (sum(found) for found in ([f.a for f in self.facts], [f.b for f in self.facts]))
        return (
            f"On {counted(self.messages, 'message')}: A finds {counted(first, 'fact')}, B {second}; "
            f"{both} in both, {first - both} in A alone, {second - both} in B alone."
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
    model: Any, prompts: tuple[str, str], messages: Sequence[Message], stores: Sequence[Any] = ()
) -> PromptComparison:
    """Ask a model for the facts in the same messages under two prompts; nothing is written.

    Args:
        model: Asked twice.
        prompts: Blank text stands for the default prompt.
        messages: The transcript, as a filter left it.
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
    reports = (_Report(), _Report())
    found = await asyncio.gather(*map(partial(_found, model, messages), prompts, reports))
    first, second = ([fact.content for fact in facts] for facts in found)
    contents = list(dict.fromkeys([*first, *second]))
    held = await _holders(stores, contents)
    facts = tuple(ComparedFact(text, text in first, text in second, held.get(text, ())) for text in contents)
    answers = (reports[0].answer, reports[1].answer)
    problems = (reports[0].problem, reports[1].problem)
    return PromptComparison(prompts, answers, problems, facts, len(messages))


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
