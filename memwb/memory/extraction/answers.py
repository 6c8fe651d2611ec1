"""Reads the list of facts out of a model's answer, whatever stands around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..._json import NotJsonError, check_metadata, lone_surrogate
from ..._text import shortened
from .types import ExtractionResult

_OPENING = re.compile(r"[\[{]|<(think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```\w*\n")
_LIST_OF_OBJECTS = re.compile(r"\[\s*(?=\{)")
_OBJECT = re.compile(r'\{\s*"[^"]*"\s*:')
_BREAKS_OFF = "the answer breaks off inside its list"
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

    Prose, brackets, a code fence, an object or a list around it do not matter, nor does what a model thinks aloud in
    ``<think>``; in a fact such a tag is text. Of several arrays the last that holds facts counts; those of one object
    count together. A list of mere numbers or texts counts only where it is the whole answer: in prose it is a
    quotation. Texts alone are taken as the facts. A list none of whose items is a fact is unreadable: its messages are
    worth another try.

    So is an answer that breaks off, since what is missing would be lost. A bracket still open at the end is prose where
    a list was read before it, or one with facts behind it. It is a break, whatever else was read, where it begins a
    list of objects (``[``, spaces, ``{``; unless that object has its end and is no fact), or an object (``{``, spaces,
    ``"key":``) with facts in it.
    """
    said, found, fault = _arrays(text)
    holding = [array for array in found if _holds_facts(array)]
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


def _arrays(text: str) -> tuple[str, list[list[Any]], str]:
    """Return a text without its thoughts, its JSON arrays, and why it cannot be read to its end, if it cannot.

    Lists in one object or list are joined. In JSON a tag of a thought is text; a thought that does not end is prose.
    """
    said: list[str] = []
    found: list[list[Any]] = []
    open_brackets: list[tuple[bool, int]] = []
    endless: set[str] = set()
    decoder = json.JSONDecoder(parse_constant=_refuse)
    end, kept, after, fault = len(text.rstrip().removesuffix("```").rstrip()), 0, 0, ""
    tries, left = _MOST_TRIES, _MOST_READ * len(text)
    while not fault and tries and (opening := _OPENING.search(text, after)):
        start, after = opening.span()
        if opening[1]:
            if (thought := _end_of_thought(text, opening, endless)) is not None:
                said.append(text[kept:start])
                kept = after = thought
            continue
        try:
            value, after = decoder.raw_decode(text, start)
            lists = _lists_of(value)
        except json.JSONDecodeError as error:
            tries -= 1
            cut = _at_end(text, error.pos, end) or error.msg.startswith("Unterminated string")
            left -= (len(text) if cut else error.pos) - start
            if cut and _begins_facts(text, start, decoder):
                fault = _BREAKS_OFF
            elif left < 0:
                fault = "the answer holds too many brackets to find its list"
            elif cut:
                open_brackets.append((bool(_OBJECT.match(text, start)), len(found)))
        except RecursionError:
            fault = "the answer nests too deeply to be read"
        except ValueError:
            tries -= 1
        else:
            if lists:
                found.append([item for each in lists for item in each])
    if not fault and _breaks_off(found, open_brackets):
        fault = _BREAKS_OFF
    return "".join([*said, text[kept:]]), found, fault


def _at_end(text: str, at: int, end: int) -> bool:
    """Whether nothing stands from ``at`` to the end, or only what a literal begins with."""
    return end - at < 5 and any(word.startswith(text[at:end]) for word in ("true", "false", "null", "-"))


def _end_of_thought(text: str, opening: re.Match[str], endless: set[str]) -> int | None:
    """Return where a thought ends; the tags of those that do not are looked for once."""
    name = opening[1].lower()
    end = None if name in endless else re.compile(f"</{name}>", re.IGNORECASE).search(text, opening.end())
    if end is None:
        endless.add(name)
    return end and end.end()


def _begins_facts(text: str, start: int, decoder: json.JSONDecoder) -> bool:
    """Whether a bracket that is open at the end begins a list whose first item is a fact, or breaks off itself."""
    if (objects := _LIST_OF_OBJECTS.match(text, start)) is None:
        return False
    try:
        return _is_fact(decoder.raw_decode(text, objects.end())[0])
    except json.JSONDecodeError:
        return True


def _breaks_off(found: list[list[Any]], open_brackets: list[tuple[bool, int]]) -> bool:
    """Whether brackets that are open at the end show a break; each says if it is an object's, and what came before."""
    if not open_brackets:
        return False
    last = max((at for at, array in enumerate(found) if _holds_facts(array)), default=-1)
    if any(is_object and before <= last for is_object, before in open_brackets):
        return True
    return last < 0 and not any(map(_may_be_meant, found[: open_brackets[0][1]]))


def _lists_of(value: Any) -> list[list[Any]]:
    """Return the lists of a value that can be facts: an object's, a list itself or those with facts in its items.

    Empty lists beside an error say nothing.
    """
    if isinstance(value, list):
        if _holds_facts(value):
            return [value]
        nested = (each for item in value if isinstance(item, list | dict) for each in _lists_of(item))
        return [each for each in nested if _holds_facts(each)] or [value]
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


def _holds_facts(array: list[Any]) -> bool:
    return any(map(_is_fact, array))


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
