"""Sessions that the Strands SDK itself has written are read."""

from __future__ import annotations

import copy

import pytest

pytest.importorskip("strands", reason="The oracle is the Strands Agents SDK, of the extra `test`.")

from strands import Agent
from strands.session.file_session_manager import FileSessionManager

from memwb import conversations
from tests.interop.capture import CapturingModel, look


async def test_a_session_folder_and_an_agents_messages_are_one_conversation(tmp_path):
    model = CapturingModel()
    model.script = ["I look it up."]
    agent = Agent(
        model=model,
        tools=[look],
        callback_handler=None,
        session_manager=FileSessionManager(session_id="s1", storage_dir=str(tmp_path)),
    )
    model.agent = agent
    await agent.invoke_async("What do I need?")

    held = copy.deepcopy(agent.messages)
    read = conversations.read(agent.messages)
    loaded = conversations.load(tmp_path / "session_s1")
    assert [{key: message[key] for key in ("role", "content")} for message in loaded] == [
        {key: message[key] for key in ("role", "content")} for message in read
    ]
    assert (len(read), read, agent.messages) == (4, held, held)


async def test_an_agents_history_and_state_stay_as_they_are_while_both_are_changed_in_the_workbench():
    from memwb import MemoryManager, TestMemoryStore, Workbench
    from memwb.bridge.strands import plugin, scripted

    kinds = []

    def third(context):
        kinds.append(type(context.state))
        context.state.set("visits", context.state.get("visits") + 1)
        return context.state.get("visits") == 3

    store = TestMemoryStore.from_records(["I use a cane."], name="notes")
    manager = MemoryManager([store], injection={"trigger": third})
    talk = [{"role": "user", "content": [{"text": "Hello"}]}, {"role": "assistant", "content": [{"text": "Hi"}]}]
    agent = Agent(
        model=scripted(["Yes."]), messages=copy.deepcopy(talk), state={"visits": 0}, plugins=[plugin(manager)]
    )
    wb = await Workbench(agent)

    await wb.conversation.edit(0, "Do I use a cane?")
    trace = await wb.set(state={"visits": 2})
    assert trace.injected
    assert wb.state.trace.fired
    await wb.conversation.add("And now?")
    await wb.conversation.delete(0)
    assert (agent.messages, agent.state.get()) == (talk, {"visits": 0})
    assert set(kinds) == {type(agent.state)}
    await wb.set(state=None)
    assert not wb.trace.fired
    wb.close()
