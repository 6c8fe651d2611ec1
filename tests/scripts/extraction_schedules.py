"""Put extraction under random failures, and count: is a message lost, or reported as saved before it was?

    python -m tests.scripts.extraction_schedules [--schedules 1000] [--seed 1]

Each schedule is drawn by lot: one to three stores that take messages or facts, agents that talk, triggers, faults of
stores and models (they raise, take their time, raise CancelledError, answer nothing that can be read), saves that are
cancelled, flushes that are given up, loops that end while saves are under way, and loops that stand still meanwhile. At
the end every store and model is well, and one flush, with a retry of what was unreadable, must have saved everything:

- lost: a message that a store never got after all that;
- early: a message that the log or the status called saved, while its store did not have it yet;
- raised: a flush that raised;
- left: something that is still pending after the last flush.

Everything is at least once: what a store had taken just before it failed, it is given again. The exit code is 1 when
any of these figures is not 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
import time
from collections import Counter
from typing import Any

from memwb.memory import (
    Buffered,
    IntervalTrigger,
    InvocationTrigger,
    MemoryManager,
    Message,
    ModelExtractor,
    Saved,
)
from memwb.memory.extraction.happenings import Event
from tests.memory.extraction.host import Host
from tests.memory.stores import BareStore, assistant, tool_result, tool_use, user


class Weather:
    """Decides how a call goes: well, or one of the faults, by lot. ``well`` ends all faults."""

    def __init__(self, rng: random.Random, figures: Counter[str]) -> None:
        self.rng, self.figures, self.well = rng, figures, False
        self.shares = {"raise": rng.choice([0, 0.1, 0.5, 0.95]), "cancel": rng.choice([0, 0, 0.1]), "slow": 0.3}

    async def passed(self, what: str) -> bool:
        """Let a call go on, after a while perhaps; return whether it does half its work before it fails."""
        fault = (
            "" if self.well else next((name for name, share in self.shares.items() if self.rng.random() < share), "")
        )
        self.figures[f"{what} {fault or 'well'}"] += 1
        if fault == "slow":
            await asyncio.sleep(self.rng.choice([0, 0, 0.001, 0.01]))
        if fault == "cancel":
            raise asyncio.CancelledError
        return fault == "raise"


class Inbox(BareStore):
    """Takes messages; its faults strike before or after it has taken them."""

    def __init__(self, name: str, weather: Weather, extraction: Any) -> None:
        super().__init__(name, writable=True, extraction=extraction)
        self.weather = weather
        self.got: set[str] = set()

    async def add_messages(self, messages: list[Message], context: Any = None) -> None:
        fails = await self.weather.passed("store")
        if not fails or self.weather.rng.random() < 0.3:
            self.got |= {block["text"] for message in messages for block in message["content"] if "text" in block}
        if fails:
            raise OSError("the store is down")


class Facts(BareStore):
    """Takes facts, one for each message of the transcript."""

    def __init__(self, name: str, weather: Weather, extraction: Any) -> None:
        super().__init__(name, writable=True, extraction=extraction)
        self.weather = weather
        self.got: set[str] = set()

    async def add(self, content: str, metadata: Any = None) -> None:
        fails = await self.weather.passed("store")
        if not fails or self.weather.rng.random() < 0.3:
            self.got.add(content)
        if fails:
            raise OSError("the store is down")


class Model:
    """Answers with one fact for each line of the transcript, as far as the weather allows."""

    def __init__(self, weather: Weather) -> None:
        self.weather = weather

    async def complete(self, system: str, messages: list[Message]) -> str:
        if await self.weather.passed("model"):
            if self.weather.rng.random() < 0.5:
                raise ConnectionError("the model is down")
            return self.weather.rng.choice(["", "Sorry.", '[{"content": "cut o'])
        lines = messages[0]["content"][0]["text"].partition("\n\n")[2].splitlines()
        return json.dumps([{"content": line.partition(": ")[2]} for line in lines if line.partition(": ")[2]])


class Schedule:
    """One run: everything in it is drawn from one seed."""

    def __init__(self, seed: str, figures: Counter[str]) -> None:
        self.rng, self.figures = random.Random(seed), figures
        self.weathers: list[Weather] = []
        self.stores = [self.store(f"store {at}") for at in range(self.rng.choice([1, 1, 2, 3]))]
        self.manager = MemoryManager(self.stores, injection=False)
        self.hosts = [Host(Model(self.weather())) for _ in range(self.rng.choice([1, 1, 2]))]
        self.said: dict[tuple[int, int], str] = {}  # agent and number -> the text that a store must get
        self.words = 0
        self.manager.extraction_log.subscribe(self.heard)

    def weather(self) -> Weather:
        self.weathers.append(Weather(self.rng, self.figures))
        return self.weathers[-1]

    def store(self, name: str) -> Any:
        trigger = self.rng.choice([InvocationTrigger(), IntervalTrigger(2), [IntervalTrigger(3), InvocationTrigger()]])
        if self.rng.random() < 0.5:
            return Inbox(name, self.weather(), {"trigger": trigger})
        return Facts(name, self.weather(), {"trigger": trigger, "extractor": ModelExtractor(Model(self.weather()))})

    def heard(self, event: Event) -> None:
        """Note what was said, and check each claim that something was saved at the moment at which it is made."""
        if isinstance(event, Buffered):
            text = next((block["text"] for block in event.message["content"] if "text" in block), "")
            self.said[event.agent, event.number] = text
        elif isinstance(event, Saved):
            self.check(event.store, event.agent, event.numbers)

    def check(self, name: str, agent: int, numbers: Any) -> None:
        got = next(store.got for store in self.stores if store.name == name)
        early = [number for number in numbers if (text := self.said[agent, number]) and text not in got]
        self.figures["early"] += len(early)

    def check_status(self) -> None:
        for status in self.manager.extraction_status():
            settled = set(range(status.saved + 1)) - set(status.unreadable)
            settled |= (
                {number for agent, number in self.said if agent == status.agent}
                - set(status.pending)
                - set(status.unreadable)
            )
            self.check(status.store, status.agent, settled)

    def run(self) -> None:
        standing: list[asyncio.AbstractEventLoop] = []
        for loop in range(self.rng.randint(1, 5)):
            if self.rng.random() < 0.3:
                standing.append(asyncio.new_event_loop())
                standing[-1].run_until_complete(self.call(first=loop == 0))
                self.figures["loops that stand still"] += 1
            else:
                asyncio.run(self.call(first=loop == 0))
                self.figures["loops that end"] += 1
            self.check_status()
            if standing and self.rng.random() < 0.3:
                self.rng.choice(standing).run_until_complete(asyncio.sleep(0.002))
        for weather in self.weathers:
            weather.well = True
        asyncio.run(self.last())
        for left in standing:
            left.run_until_complete(ended())
            left.close()
        self.figures["messages"] += len(self.said)
        for store in self.stores:
            self.figures["lost"] += len({text for text in self.said.values() if text} - store.got)
        self.figures["left"] += sum(len(status.pending) for status in self.manager.extraction_status())

    async def call(self, *, first: bool) -> None:
        """Some steps on a loop of their own, which ends with whatever is under way."""
        if first:
            for host in self.hosts:
                await self.manager.init_agent(host)
        for _ in range(self.rng.randint(1, 12)):
            await self.step(self.rng.choice(self.hosts))
            self.check_status()

    async def step(self, host: Host) -> None:
        kind = self.rng.choices(["turn", "wait", "flush", "given up", "cancel"], [10, 4, 1, 1, 1])[0]
        if kind == "turn":
            self.turn(host)
        elif kind == "wait":
            await asyncio.sleep(self.rng.choice([0, 0, 0.001, 0.01]))
        elif kind == "flush":
            await self.flush()
        elif kind == "given up":
            flush = asyncio.ensure_future(self.flush())
            await asyncio.sleep(0)
            flush.cancel()
        else:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in self.rng.sample(others, min(len(others), 2)):
                self.figures["cancelled tasks"] += 1
                task.cancel()

    def turn(self, host: Host) -> None:
        self.words += 1
        messages = [user(f"words {self.words}")]
        if self.rng.random() < 0.3:
            messages += [tool_use(), tool_result()]
        host.add(*messages, assistant(f"answer {self.words}"))
        host.end()

    async def flush(self) -> None:
        try:
            await self.manager.flush()
        except Exception:
            self.figures["raised"] += 1

    async def last(self) -> None:
        await self.flush()
        if await self.manager.retry_unreadable():
            self.figures["left"] += 1
        await self.flush()


async def ended() -> None:
    """Cancel what is left on a loop, and wait for it."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def run(schedules: int, seed: int) -> Counter[str]:
    """Run so many schedules and return the figures; ``lost``, ``early``, ``raised`` and ``left`` must be 0."""
    figures: Counter[str] = Counter({"lost": 0, "early": 0, "raised": 0, "left": 0})
    for number in range(schedules):
        Schedule(f"{seed} {number}", figures).run()
    return figures


def main() -> int:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    began = time.perf_counter()
    figures = run(given.schedules, given.seed)
    for name in sorted(figures):
        print(f"{name:20}{figures[name]:>10,}")
    print(f"{given.schedules:,} schedules in {time.perf_counter() - began:.1f} s")
    return int(any(figures[name] for name in ("lost", "early", "raised", "left")))


if __name__ == "__main__":
    sys.exit(main())
