"""A conversation and a model to watch extraction with, where there is no other: both the same at every run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..memory import Message

NAME = "the demo model: a rule, no key needed"

_PERSONAL = re.compile(r"\b(I|I'm|my|mine|we|our)\b", re.IGNORECASE)
_TOPICS = {
    "preference": re.compile(r"\b(like|love|prefer|want|favou?rite|enjoy|rather)\b", re.IGNORECASE),
    "health": re.compile(r"\b(allerg\w*|surgery|cane|knee|pain|doctor)\b", re.IGNORECASE),
    "place": re.compile(r"\b(live|city|town|home|street|floor)\b", re.IGNORECASE),
}
_ONLY = re.compile(r"\bonly\b([^.]*)", re.IGNORECASE)
_TURN = re.compile(r"^(user|assistant): ", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class DemoModel:
    """A rule in place of a model: it keeps the sentences in which the user speaks of themselves.

    A prompt that asks for *only* preferences, health or places gets those alone. So an edited prompt shows, and no key
    is needed; what a real model makes of a prompt is another matter.
    """

    async def complete(self, system: str, messages: list[Message]) -> str:
        """Return the sentences as the JSON that an extraction reads."""
        transcript = "\n".join(block["text"] for message in messages for block in message["content"] if "text" in block)
        wanted = [
            pattern for topic, pattern in _TOPICS.items() if any(topic in found for found in _ONLY.findall(system))
        ]
        facts = [
            {"content": f"The user says: {sentence}"}
            for sentence in _sentences(transcript)
            if _PERSONAL.search(sentence)
            and not sentence.endswith("?")
            and (not wanted or any(pattern.search(sentence) for pattern in wanted))
        ]
        return json.dumps(facts, ensure_ascii=False, indent=1)

    def __repr__(self) -> str:
        return "DemoModel()"


def _sentences(transcript: str) -> list[str]:
    """Return the user's sentences out of ``role: text`` lines."""
    parts = _TURN.split(transcript)
    said = [text for role, text in zip(parts[1::2], parts[2::2], strict=True) if role == "user"]
    return [sentence.strip() for text in said for sentence in _SENTENCE.split(text.strip()) if sentence.strip()]


def _call(text: str, name: str, id: str, **given: Any) -> list[dict[str, Any]]:
    return [{"text": text}, {"toolUse": {"toolUseId": id, "name": name, "input": given}}]


def _result(text: str, id: str) -> list[dict[str, Any]]:
    return [{"toolResult": {"toolUseId": id, "status": "success", "content": [{"text": text}]}}]


def conversation() -> list[Message]:
    """Return the demo conversation: five turns, two of them with a tool."""
    said: list[str | list[dict[str, Any]]] = [
        "Hello, I am Mara. I had knee surgery in May, and I want to start yoga again.",
        "Welcome back, Mara. How do you get around at the moment?",
        "I walk with a cane. I live in Graz, on the third floor. Which studios are near?",
        _call("Let me look for studios in Graz.", "find_studios", "t1", city="Graz"),
        _result("Studio Lend: ground floor, latex mats. Yoga am Fluss: lift, cork mats.", "t1"),
        "Two would do: Studio Lend is on the ground floor, Yoga am Fluss has a lift.",
        "I am allergic to latex, so the second one. I prefer mornings.",
        "Yoga am Fluss has classes at 8 on Tuesdays and Fridays.",
        "Tuesday, please. On Fridays I take my daughter to school.",
        _call("I will book it.", "book", "t2", studio="Yoga am Fluss", day="Tuesday"),
        _result("booked: Tuesday 08:00", "t2"),
        "Done: Tuesdays at 8, starting next week.",
        "Thank you! The doctor says I can walk without the cane now.",
        "That is good news. I will keep it in mind.",
    ]
    roles = ("user", "assistant")
    return [
        {"role": roles[at % 2], "content": [{"text": item}] if isinstance(item, str) else item}
        for at, item in enumerate(said)
    ]
