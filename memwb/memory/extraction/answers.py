"""Reads the list of facts out of a model's answer, whatever stands around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..._text import shortened
from .types import ExtractionResult

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"\A\s*```\w*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_MOST_TRIES = 1_000
"""So many opening brackets without JSON behind them are looked at."""


@dataclass
class Answer:
    """What an answer holds.

    Attributes:
        facts: The facts, each once, in their order.
        notes: What was dropped or chosen, a sentence each.
        unreadable: Why no list could be read, empty where one was.
    """

    facts: list[ExtractionResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unreadable: str = ""


def read_answer(text: str) -> Answer:
    """Find the JSON array of facts in an answer, and read it.

    Brackets in the prose around it, a code fence, an object around the array and what a model thinks aloud in
    ``<think>`` do not matter. Of several arrays the last that holds facts counts; those of one object count together. A
    list of mere numbers or texts counts only where it is the whole answer: in prose it is a quotation. An answer that
    breaks off is not read at all, since what is missing would be lost.
    """
    said = _THINKING.sub("", text)
    found, cut = _arrays(said)
    holding = [array for array in found if any(_is_fact(item) for item in array)]
    lists = holding or [array for array in found if _may_be_meant(array)]
    if not lists and len(found) == 1 and _is_whole(said, found[0]):
        lists = found
    if cut or not lists:
        return Answer(unreadable=_reason(text, said, cut))
    answer = Answer()
    if len(lists) > 1:
        answer.notes.append(f"the answer holds {len(lists)} lists; the last one was used")
    _read_items(lists[-1], answer)
    return answer


def _reason(text: str, said: str, cut: bool) -> str:
    if not text.strip():
        return "the answer is empty"
    if cut:
        return "the answer breaks off inside its list"
    return "the answer holds no list of facts" if said.strip() else "the answer holds nothing but thoughts"


def _arrays(text: str) -> tuple[list[list[Any]], bool]:
    """Return the outermost JSON arrays of a text, and whether it breaks off inside a list or an object.

    Lists that are values of one object are joined.
    """
    found: list[list[Any]] = []
    decoder = json.JSONDecoder(parse_constant=_refuse)
    end, tries, after = len(text.rstrip().removesuffix("```").rstrip()), 0, 0
    while (opening := _OPENING.search(text, after)) and tries < _MOST_TRIES:
        try:
            value, after = decoder.raw_decode(text, opening.start())
        except json.JSONDecodeError as error:
            if error.pos >= end or error.msg.startswith("Unterminated string"):
                return found, True
            tries, after = tries + 1, opening.end()
        except (ValueError, RecursionError):
            tries, after = tries + 1, opening.end()
        else:
            lists = [value] if isinstance(value, list) else [each for each in value.values() if _may_be_meant(each)]
            if lists:
                found.append([item for each in lists for item in each])
    return found, False


def _may_be_meant(value: Any) -> bool:
    """Whether a value is a list that can be the list of facts: an empty one, or one that holds objects."""
    return isinstance(value, list) and (not value or any(isinstance(item, dict) for item in value))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _is_whole(text: str, array: list[Any]) -> bool:
    inside = _FENCED.match(text)
    try:
        return bool(json.loads(inside[1] if inside else text) == array)
    except ValueError:
        return False


def _is_fact(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("content"), str)


def _read_items(items: list[Any], answer: Answer) -> None:
    seen: set[str] = set()
    for item in items:
        if not _is_fact(item):
            answer.notes.append(f"an item without a text as content was dropped: {shortened(json.dumps(item), 80)}")
            continue
        content = item["content"].strip()
        if not content or content in seen:
            answer.notes.append(f"a {'repeated' if content else 'blank'} fact was dropped: {shortened(content, 80)!r}")
            continue
        if not _is_utf8(json.dumps(item, ensure_ascii=False)):
            answer.notes.append(f"a fact that no file could hold was dropped: {shortened(content, 80)!r}")
            continue
        seen.add(content)
        answer.facts.append(ExtractionResult(content, _metadata(item, answer)))


def _metadata(item: dict[str, Any], answer: Answer) -> dict[str, Any] | None:
    metadata = item.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        return metadata
    answer.notes.append(f"metadata that is no object was left out: {shortened(json.dumps(metadata), 80)}")
    return None


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
