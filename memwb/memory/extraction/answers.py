"""Reads the list of facts out of a model's answer, whatever stands around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..._json import NotJsonError, check_metadata, lone_surrogate
from ..._text import shortened
from .types import ExtractionResult

_THINKING = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```\w*\n")
_OPENING = re.compile(r"[\[{]")
_MOST_TRIES = 1_000
"""So many opening brackets without JSON behind them are looked at."""
_MOST_READ = 20
"""So often, on the whole, an answer's length is read at most in search of its lists: an event loop waits meanwhile."""


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
    list of mere numbers or texts counts only where it is the whole answer: in prose it is a quotation. Texts alone are
    taken as the facts. An answer that breaks off is not read at all, since what is missing would be lost; neither is
    a list none of whose items is a fact: its messages are worth another try.
    """
    said = _without_thoughts(text)
    found, fault = _arrays(said)
    holding = [array for array in found if any(_is_fact(item) for item in array)]
    lists = holding or [array for array in found if _may_be_meant(array)]
    if not lists and len(found) == 1 and _is_whole(said, found[0]):
        lists = found
    if fault or not lists:
        return Answer(unreadable=_reason(text, said, fault))
    answer = Answer()
    if len(lists) > 1:
        answer.notes.append(f"the answer holds {len(lists)} lists; the last one was used")
    items = lists[-1]
    if items and all(isinstance(item, str) for item in items):
        answer.notes.append("the items are texts, no objects; each was taken as a fact")
        items = [{"content": item} for item in items]
    _read_items(items, answer)
    return answer


def _reason(text: str, said: str, fault: str) -> str:
    if not text.strip():
        return "the answer is empty"
    return fault or ("the answer holds no list of facts" if said.strip() else "the answer holds nothing but thoughts")


def _without_thoughts(text: str) -> str:
    """Cut out what stands between ``<think>`` and its end; one that does not end is left as it is."""
    parts, kept = [], 0
    endless: set[str] = set()
    for opening in _THINKING.finditer(text):
        name = opening[1].lower()
        if opening.start() < kept or name in endless:
            continue
        end = re.compile(f"</{name}>", re.IGNORECASE).search(text, opening.end())
        if end is None:
            endless.add(name)
        else:
            parts.append(text[kept : opening.start()])
            kept = end.end()
    return "".join([*parts, text[kept:]])


def _arrays(text: str) -> tuple[list[list[Any]], str]:
    """Return the outermost JSON arrays of a text, and why it cannot be read to its end, if it cannot.

    Lists that are values of one object are joined.
    """
    found: list[list[Any]] = []
    decoder = json.JSONDecoder(parse_constant=_refuse)
    end, tries, after = len(text.rstrip().removesuffix("```").rstrip()), 0, 0
    left = _MOST_READ * len(text)
    while (opening := _OPENING.search(text, after)) and tries < _MOST_TRIES:
        try:
            value, after = decoder.raw_decode(text, opening.start())
        except json.JSONDecodeError as error:
            if error.pos >= end or error.msg.startswith("Unterminated string"):
                return found, "the answer breaks off inside its list"
            left -= error.pos - opening.start()
            if left < 0:
                return found, "the answer holds too many brackets to find its list"
            tries, after = tries + 1, opening.end()
        except RecursionError:
            return found, "the answer nests too deeply to be read"
        except ValueError:
            tries, after = tries + 1, opening.end()
        else:
            lists = [value] if isinstance(value, list) else _lists_of(value)
            if lists:
                found.append([item for each in lists for item in each])
    return found, ""


def _lists_of(value: dict[str, Any]) -> list[list[Any]]:
    """Return the lists of an object that can be facts; those that are empty beside an error say nothing."""
    lists = [each for each in value.values() if _may_be_meant(each)]
    return [] if not any(lists) and any(map(_tells_of_an_error, value.items())) else lists


def _tells_of_an_error(pair: tuple[str, Any]) -> bool:
    key, value = pair
    return value == "error" or ("error" in key.lower() and bool(value))


def _may_be_meant(value: Any) -> bool:
    """Whether a value is a list that can be the list of facts: an empty one, or one that holds objects."""
    return isinstance(value, list) and (not value or any(isinstance(item, dict) for item in value))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _is_whole(text: str, array: list[Any]) -> bool:
    text = text.strip()
    fence = _FENCE.match(text)
    try:
        return bool(json.loads(text[fence.end() :].removesuffix("```") if fence else text) == array)
    except ValueError:
        return False


def _is_fact(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("content"), str)


def _read_items(items: list[Any], answer: Answer) -> None:
    seen: set[str] = set()
    lost = 0
    for item in items:
        if not _is_fact(item):
            lost += not (isinstance(item, dict) and "content" in item)
            answer.notes.append(f"an item without a text as content was dropped: {_shown(item)}")
            continue
        content = item["content"].strip()
        if lone_surrogate(content) is not None:
            lost += 1
            answer.notes.append(f"a fact that no file could hold was dropped: {shortened(content, 80)!r}")
        elif not content or content in seen:
            answer.notes.append(f"a {'repeated' if content else 'blank'} fact was dropped: {shortened(content, 80)!r}")
        else:
            seen.add(content)
            answer.facts.append(ExtractionResult(content, _metadata(item, answer)))
    if items and lost == len(items):
        answer.unreadable = "none of the list's items is a fact that can be kept"


def _metadata(item: dict[str, Any], answer: Answer) -> dict[str, Any] | None:
    metadata = item.get("metadata")
    if metadata is None:
        return None
    try:
        return check_metadata(metadata)
    except NotJsonError as error:
        told = f"{error}; it was" if isinstance(metadata, dict) else "metadata that is no object was"
        answer.notes.append(f"{told} left out: {_shown(metadata)}")
        return None


def _shown(value: Any) -> str:
    try:
        return shortened(json.dumps(value), 80)
    except RecursionError:
        return "lists and objects that nest too deeply to be shown"
