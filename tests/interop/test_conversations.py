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
