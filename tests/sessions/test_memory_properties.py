"""Whatever is added, summarised, undone, edited and removed, in whatever order: nothing that was said is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memwb.errors import SummaryError
from memwb.sessions import FileStore, InMemoryStore, Memory, SQLiteStore
from memwb.sessions.messages import calls, results
from tests.sessions.fakes import PlainStore, SmallModel

ANSWERS = ["short", "", None, ConnectionError("no route")]


class Conversation(RuleBasedStateMachine):
    """One session and what must be in it: each entry in full, or in the backup of the one summary."""

    def make_store(self, folder):
        return InMemoryStore()

    def __init__(self):
        super().__init__()
        self.folder = TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.model = SmallModel()
        self.store = self.make_store(Path(self.folder.name))
        self.memory = self.opened()
        self.said = []  # the texts in order; those of a summary that was replaced by another one are let go
        self.summarised = set()
        self.open_call = None
        self.answered = False

    def opened(self):
        return Memory(self.store, self.model, max_messages=8, pin_count=2, recent_count=3)

    def do(self, work):
        return self.loop.run_until_complete(work)

    def entries(self):
        return self.do(self.memory.get_entries("s", "u"))

    def teardown(self):
        self.do(self.store.close())
        self.loop.close()
        self.folder.cleanup()

    @rule(kind=st.sampled_from(["user", "assistant", "call", "result"]), answer=st.sampled_from(ANSWERS))
    def add(self, kind, answer):
        self.model.answer = answer
        number = f"m{len(self.said)}"
        if kind == "user" or (self.answered and kind != "result"):
            self.open_call = None  # the turn is over; or the call is, and no model takes a second result of it later
            self.answered = False
        message = {"role": kind, "content": number}
        if kind == "call":
            message = {"role": "assistant", "content": number, "tool_calls": [{"id": number}]}
            self.open_call = number
        elif kind == "result":
            if self.open_call is None:
                return
            message = {"role": "tool", "content": number, "tool_call_id": self.open_call}
            self.answered = True
        self.do(self.memory.add(message, "s", "u"))
        self.said.append(number)

    @rule()
    def summarise(self):
        self.model.answer = "short"
        preview = self.do(self.memory.preview_summary("s", "u"))
        if preview.replaced:
            self.do(self.memory.apply_summary(preview))

    @rule()
    def undo(self):
        try:
            self.do(self.memory.undo_summary("s", "u"))
        except SummaryError:
            assert not any(entry.role == "summary" and entry.message_data for entry in self.entries())

    @precondition(lambda self: self.said)
    @rule()
    def open_again(self):
        self.do(self.memory.close())
        self.memory = self.opened()

    @invariant()
    def what_was_said_is_there_once_and_in_order(self):
        entries = self.entries()
        summaries = [entry for entry in entries if entry.role == "summary"]
        assert len(summaries) <= 1
        here = [entry.content for entry in entries if entry.role != "summary"]
        kept = [each["content"] for entry in summaries for each in (entry.message_data or {}).get("replaced", ())]
        kept = [content for content in kept if content != "short"]  # an earlier summary
        assert not set(here) & set(kept)
        assert here == sorted(here, key=self.said.index)
        self.summarised |= {content for content in self.said if content not in {*here, *kept}}
        assert not summaries or self.summarised.isdisjoint(here)
        if self.summarised:
            assert summaries
        assert here[:2] == self.said[: len(here[:2])]

    @invariant()
    def calls_and_results_are_together(self):
        entries = self.entries()
        made = {call.id for entry in entries for call in calls(entry)}
        asked = {id for entry in entries for id in results(entry)}
        assert asked <= made


class InSQLite(Conversation):
    def make_store(self, folder):
        return SQLiteStore(folder / "memory.db")


class InFiles(Conversation):
    def make_store(self, folder):
        return FileStore(folder)


class InAnyStore(Conversation):
    def make_store(self, folder):
        return PlainStore()


TestInMemory, TestInSQLite, TestInFiles, TestInAnyStore = (
    machine.TestCase for machine in (Conversation, InSQLite, InFiles, InAnyStore)
)
TestInMemory.settings = settings(max_examples=40, stateful_step_count=30)
TestInSQLite.settings = TestInFiles.settings = TestInAnyStore.settings = settings(
    max_examples=8, stateful_step_count=30
)
