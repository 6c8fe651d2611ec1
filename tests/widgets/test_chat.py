"""The pane of the conversation as a person writes in it: forms, what they refuse, and where the keyboard goes."""

from __future__ import annotations

import json

import pytest

from memwb import Workbench
from tests.workbench.fakes import ABOUT_ME, ListStore, tool_call, tool_result


def user(text):
    return {"role": "user", "content": [{"text": text}]}


def assistant(text):
    return {"role": "assistant", "content": [{"text": text}]}


TALK = [user("I like art."), assistant("Noted."), user("Do I use a cane?")]


class Page:
    """The page of a workbench's conversation."""

    def __init__(self, workbench):
        self.workbench = workbench
        self.chat, self.state = workbench._chat, workbench.state

    async def do(self, do, **message):
        self.chat.view._received(None, {"do": do, **message}, [])
        await self.workbench

    async def save(self, *fields, role=None):
        values = {f"f{at}": text for at, text in enumerate(fields)}
        await self.do("save", form=True, values=values | ({"role": role} if role else {}))

    @property
    def tree(self):
        return self.chat.view.tree

    def nodes(self, tag):
        return [node for node in flat(self.tree) if node["t"] == tag]

    @property
    def fields(self):
        return [node["a"]["value"] for node in self.nodes("textarea")]

    @property
    def takes(self):
        """What gets the keyboard: its name."""
        return [node["a"]["aria-label"] for node in flat(self.tree) if "data-take" in node.get("a", {})]

    @property
    def told(self):
        return [text(node) for node in flat(self.tree) if node.get("a", {}).get("role") in ("alert", "status")]


def flat(node):
    yield node
    for child in node.get("k", ()):
        if isinstance(child, dict):
            yield from flat(child)


def text(node):
    return "".join(child if isinstance(child, str) else text(child) for child in node.get("k", ()))


@pytest.fixture
async def page():
    made = []

    async def make(messages=TALK, **settings):
        made.append(Workbench(ListStore(*ABOUT_ME), messages, **settings))
        await made[-1]
        return Page(made[-1])

    yield make
    for each in made:
        each.close()


async def test_a_message_is_added_at_the_end_and_the_keyboard_goes_to_it(page):
    page = await page()
    await page.do("add")
    assert (page.fields, page.takes) == ([""], ["text"])
    await page.save("You do.", role="assistant")
    assert page.state.messages == [*TALK, assistant("You do.")]
    assert page.takes == ["Edit message 4"]
    (later,) = [node for node in page.nodes("details") if node["c"] == "memwb-later"]
    assert "open" in later["a"]
    await page.do("add")
    await page.save("And latex?", role="user")
    assert (page.state.call, page.workbench.trace.query) == (3, "And latex?")


async def test_a_message_is_edited_and_cancelling_changes_nothing(page):
    page = await page()
    await page.do("edit", at=0)
    assert (page.fields, page.takes) == (["I like art."], ["text"])
    await page.do("cancel")
    assert (page.state.messages, page.takes) == (TALK, ["Edit message 1"])
    await page.do("edit", at=0)
    await page.save("I like jazz.")
    assert page.state.messages == [user("I like jazz."), *TALK[1:]]
    assert page.takes == ["Edit message 1"]
    await page.do("undo")
    assert (page.state.messages, page.told) == (TALK, ["The messages are as before."])
    assert page.takes == ["Undo the last change of the messages"]


async def test_a_message_is_deleted_and_the_next_one_gets_the_keyboard(page):
    page = await page()
    await page.do("edit", at=1)
    await page.do("delete")
    assert (page.state.messages, page.takes) == ([TALK[0], TALK[2]], ["Edit message 2"])
    for at in (1, 0):
        await page.do("edit", at=at)
        await page.do("delete")
    assert (page.state.messages, page.takes) == ([], ["Add a message"])


async def test_what_is_written_is_kept_when_another_message_comes_after_it(page):
    page = await page()
    await page.do("edit", at=0)
    await page.do("after", form=True, values={"f0": "I like tea."})
    assert page.fields == [""]
    await page.save("Which one?")
    assert page.state.messages == [user("I like tea."), assistant("Which one?"), *TALK[1:]]


async def test_tool_calls_are_edited_as_json_and_a_broken_one_keeps_what_was_typed(page):
    page = await page([user("art"), tool_call(zone="CET"), tool_result("noon")])
    await page.do("edit", at=1)
    (written,) = page.fields
    assert json.loads(written) == tool_call(zone="CET")["content"][0]
    await page.save('{"toolUse": {"name": "clock"\n')
    assert page.fields == ['{"toolUse": {"name": "clock"\n']
    (told,) = page.told
    assert told.startswith("Conversation: this is no JSON: line ")
    assert page.state.messages[1] == tool_call(zone="CET")
    await page.save(written.replace("CET", "EST"))
    assert page.state.messages[1] == tool_call(zone="EST")


async def test_blocks_are_added_to_what_is_written(page):
    page = await page()
    await page.do("edit", at=1)
    await page.do("block", form=True, kind="tool call", values={"f0": "Let me look.", "role": "assistant"})
    call = {"toolUse": {"toolUseId": "t1", "name": "clock", "input": {}}}
    assert page.fields[0] == "Let me look."
    await page.save("Let me look.", json.dumps(call))
    assert page.state.messages[1]["content"] == [{"text": "Let me look."}, call]
    doubts = [text(node) for node in flat(page.tree) if "memwb-doubt" in node.get("c", "")]
    assert doubts == ["⚠ the call of 'clock' ('t1') has no result after it"]


async def test_what_no_page_can_hold_stays_to_the_byte(page):
    odd = [
        {"text": "a\r\nb \u202e \x00 \ud83d"},
        {"image": {"format": "png", "source": {"bytes": b"\x89"}}},
        {"text": "x" * 100_001},
    ]
    page = await page([{"role": "user", "content": odd}])
    await page.do("edit", at=0)
    assert page.fields == ["a\r\nb \u202e \x00 ?"]
    await page.save("a\nb \u202e \x00 ?", role="user")
    assert page.state.messages[0]["content"] == odd
    assert text(page.tree).count("edit") == 1


async def test_a_message_that_was_changed_meanwhile_is_not_written_over(page):
    page = await page()
    await page.do("edit", at=0)
    await page.workbench.conversation.add("New.", at=0)
    await page.save("I like tea.")
    assert page.state.messages[:2] == [user("New."), user("I like tea.")]
    await page.do("edit", at=1)
    await page.workbench.conversation.edit(1, "Other.")
    await page.save("I like soup.")
    assert page.told == [
        "Conversation: this message was changed meanwhile, from a cell or by undo. Copy your text, and cancel."
    ]
    await page.do("delete")
    assert page.state.messages[1] == user("Other.")


async def test_a_paste_says_what_it_was_and_a_broken_one_where_and_why(page):
    page = await page()
    await page.do("paste")
    assert page.takes == ["A conversation"]
    await page.save('[{"role": "user", "content": ')
    assert page.told[0].startswith("Paste: line 1, column ")
    assert page.fields == ['[{"role": "user", "content": ']
    await page.save("User: a\nAssistant: b\nUser: c")
    assert page.told == ["Pasted: lines of a dialogue, 3 messages."]
    assert page.takes == ["Undo the last change of the messages"]
    await page.do("undo")
    assert page.state.messages == TALK


async def test_the_state_that_predicates_see_is_edited_as_json(page):
    page = await page(injection={"trigger": lambda context: context.state["visits"] == 3})
    assert "no agent: None" in text(page.tree)
    await page.do("state")
    assert page.fields == ["{}"]
    await page.save('{"visits": 3')
    assert page.told[0].startswith("Conversation: this is no JSON: line 1, column ")
    await page.save("[3]")
    assert page.told == ["Workbench: state is [3]; it must be a dict, such as {'visits': 3}."]
    await page.save('{"visits": 3}')
    assert (page.state.agent_state, page.workbench.trace.fired) == ({"visits": 3}, True)
    await page.do("state")
    await page.save(" ")
    assert page.state.agent_state is None


async def test_messages_of_a_page_that_know_nothing_of_the_form_do_nothing(page):
    page = await page()
    for message in ("save", "delete", "after", "block", "cancel", "nonsense"):
        await page.do(message, kind="text")
    await page.do("edit", at=99)
    assert (page.state.messages, page.state.conversation.steps) == (TALK, 0)
    await page.do("edit", at=0)
    await page.do("save", form=True, values="nonsense")
    await page.do("undo")
    assert page.state.messages == TALK
