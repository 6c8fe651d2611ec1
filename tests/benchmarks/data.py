"""The data of the benchmark: memories and queries that are the same on every machine.

A memory is a sentence of 8 to 40 words (21 on average) from a vocabulary of 50,000 made-up words whose frequencies
fall as in a language: the commonest word stands in about 60 % of the memories. 70 % have nested metadata. A thousand
memories make a file of about 0.39 MB.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

SEED = 20260101
VOCABULARY = 50_000
FUNCTION_WORDS = "the to and of a in i is my for it you on that with was do we at what how when does".split()
_CITIES = ["Lisbon", "Zürich", "Oslo", "Kyoto", "Quito", "Accra", "Pune", "Leeds"]
_FIRST = datetime(2024, 1, 1, tzinfo=UTC)


def vocabulary() -> list[str]:
    """Return the words, the commonest first: function words, then made-up ones that grow longer as they grow rarer."""
    rng = random.Random(f"{SEED} words")
    words = dict.fromkeys(FUNCTION_WORDS)
    while len(words) < VOCABULARY:
        syllables = rng.choices((1, 2, 3, 4), (1, 6, 3, 1) if len(words) < 3000 else (0, 4, 5, 2))[0]
        words["".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(syllables))] = None
    return list(words)


def frequencies() -> list[float]:
    """Return how often each word of the vocabulary stands in a text, added up from the first word on."""
    return list(accumulate((rank + 2.8) ** -1.1 for rank in range(1, VOCABULARY + 1)))


def records(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield memories as they stand in a TestMemoryStore's file, no two with the same text."""
    rng = random.Random(f"{SEED} records {seed}")
    words, frequency = vocabulary(), frequencies()
    seen: set[str] = set()
    while len(seen) < count:
        length = 8 + int(33 * rng.betavariate(2, 3))
        content = " ".join(rng.choices(words, cum_weights=frequency, k=length)).capitalize() + "."
        if content in seen:
            continue
        seen.add(content)
        created = _FIRST + timedelta(seconds=len(seen), milliseconds=rng.randrange(1000))
        record: dict[str, Any] = {
            "id": f"{rng.getrandbits(128):032x}",
            "content": content,
            "createdAt": created.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        if rng.random() < 0.7:
            record["metadata"] = _metadata(rng)
        yield record


def _metadata(rng: random.Random) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "source": rng.choice(("chat", "mail", "call")),
        "session": f"s-{rng.randrange(500):04d}",
        "confidence": round(rng.random(), 2),
        "where": {"city": rng.choice(_CITIES), "geo": {"lat": round(rng.uniform(-90, 90), 3)}},
    }
    if rng.random() < 0.5:
        metadata["turn"] = rng.randrange(40)
    return metadata


def queries(count: int = 40) -> list[str]:
    """Return queries of 3 to 8 words; half are questions with function words, half hold content words alone."""
    rng = random.Random(f"{SEED} queries")
    words, frequency = vocabulary(), frequencies()
    made = []
    for number in range(count):
        content: list[str] = []
        length = rng.randint(3, 8)
        while len(content) < length:
            word = rng.choices(words, cum_weights=frequency)[0]
            if word not in FUNCTION_WORDS:
                content.append(word)
        if number % 2:
            made.append(" ".join(content))
        else:
            functions = rng.sample(FUNCTION_WORDS, length // 2)
            mixed = [*functions, *content[: length - len(functions)]]
            made.append(" ".join(mixed).capitalize() + "?")
    return made


def made(folder: Path, count: int, seed: int = 0) -> Path:
    """Return a file of memories, made where it is missing."""
    path = folder / f"memories-{count}-{seed}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(list(records(count, seed)), indent=2, ensure_ascii=False), encoding="utf-8")
        temporary.rename(path)
    return path


def file(folder: Path, count: int, seed: int = 0) -> Path:
    """Return a file of memories that is old enough for no store to doubt its time."""
    path = made(folder, count, seed)
    while time.time() - path.stat().st_ctime < 2.5:
        time.sleep(0.1)
    return path
