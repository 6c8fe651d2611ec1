"""Conversations from other SDKs, from sessions and from files become message dicts, with their tool calls."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from memwb import conversations
from memwb.errors import ConfigError, DamagedFileError
from memwb.memory.messages import model_calls
from memwb.sessions import InMemoryStore, Memory
from memwb.stores import TestMemoryStore
from memwb.testing import frozen
from tests.sessions.fakes import SmallModel, talk

STRANDS = [
    {"role": "user", "content": [{"text": "How much is it?"}]},
    {
        "role": "assistant",
        "content": [
            {"text": "Let me look."},
            {"toolUse": {"toolUseId": "k1", "name": "price_of", "input": {"product": "grab bar"}}},
            {"toolUse": {"toolUseId": "k2", "name": "clock", "input": {}}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "k1", "status": "success", "content": [{"text": "19.90"}]}},
            {"toolResult": {"toolUseId": "k2", "status": "success", "content": [{"text": "noon"}]}},
        ],
    },
    {"role": "assistant", "content": [{"text": "It is 19.90."}]},
]
OPENAI = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How much is it?"},
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [
            {
                "id": "k1",
                "type": "function",
                "function": {"name": "price_of", "arguments": '{"product": "grab bar"}'},
            },
            {"id": "k2", "type": "function", "function": {"name": "clock", "arguments": ""}},
        ],
    },
    {"role": "tool", "tool_call_id": "k1", "content": "19.90"},
    {"role": "tool", "tool_call_id": "k2", "content": [{"type": "text", "text": "noon"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is 19.90."}]},
]
ANTHROPIC = [
    {"role": "user", "content": "How much is it?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "k1", "name": "price_of", "input": {"product": "grab bar"}},
            {"type": "tool_use", "id": "k2", "name": "clock", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "k1", "content": "19.90"},
            {"type": "tool_result", "tool_use_id": "k2", "content": [{"type": "text", "text": "noon"}]},
        ],
    },
    {"role": "assistant", "content": "It is 19.90."},
]


@pytest.mark.parametrize("messages", [STRANDS, OPENAI, ANTHROPIC], ids=["Strands", "OpenAI", "Anthropic"])
def test_each_sdks_messages_are_read_with_their_tool_calls(messages):
    before = json.dumps(messages)

    found = conversations.read(messages)
    assert found == STRANDS
    assert model_calls(found) == [1, 3]
    found[1]["content"].clear()
    assert json.dumps(messages) == before


def test_messages_that_are_objects_are_read():
    call = SimpleNamespace(id="k1", function={"name": "clock", "arguments": "no JSON"})
    messages = [
        SimpleNamespace(role="user", content="Hi"),
        SimpleNamespace(role="assistant", content=None, tool_calls=[call]),
    ]

    assert conversations.read(messages) == [
        {"role": "user", "content": [{"text": "Hi"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "k1", "name": "clock", "input": "no JSON"}}]},
    ]


def test_thoughts_errors_and_blocks_of_other_kinds_are_kept():
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "image", "source": {"type": "url", "url": "x"}},
        {"type": "tool_use", "id": "k", "name": "clock", "input": {}},
    ]
    failed = [{"type": "tool_result", "tool_use_id": "k", "content": None, "is_error": True}]
    messages = [{"role": "assistant", "content": content}, {"role": "user", "content": failed}]

    assert conversations.read(messages) == [
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                {"image": {"source": {"type": "url", "url": "x"}}},
                {"toolUse": {"toolUseId": "k", "name": "clock", "input": {}}},
            ],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "k", "status": "error", "content": []}}]},
    ]


def test_what_a_message_has_besides_stays():
    message = {"role": "user", "content": "Hi", "metadata": {"n": [1]}, "created_at": "2026-01-01T00:00:00Z"}

    (found,) = conversations.read([message])
    assert found == {**message, "content": [{"text": "Hi"}]}
    assert found["metadata"] is not message["metadata"]


def test_a_system_message_in_the_midst_is_the_users_and_one_at_the_start_is_left_out():
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": "It is noon."},
    ]
    assert conversations.read(messages) == [
        {"role": "user", "content": [{"text": "Hi"}]},
        {"role": "user", "content": [{"text": "It is noon."}]},
    ]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Hi", "message 1 is str, not a dict"),
        ({"content": "Hi"}, "message 1 has the role None"),
        ({"role": "robot", "content": "Hi"}, "message 1 has the role 'robot'"),
        ({"role": "user"}, "message 1 needs 'content': a text, or a list of blocks"),
        ({"role": "user", "content": None}, "message 1 needs 'content'"),
        ({"role": "user", "content": {"text": "Hi"}}, "message 1 needs 'content'"),
        ({"role": "user", "content": [{"text": "Hi"}, 3]}, r"message 1 \(content\[1\]\) needs 'content' as a list"),
        ({"role": "user", "content": [{"text": 3}]}, r"message 1 \(content\[0\]\) has a text block that holds int"),
        (
            {"role": "user", "content": [{"type": "text"}]},
            r"message 1 \(content\[0\]\) has a text block that holds None",
        ),
        ({"role": "user", "content": [{}]}, r"message 1 \(content\[0\]\) has the block {}, which has no kind"),
        (
            {"role": "assistant", "content": "x", "tool_calls": [3]},
            r"message 1 \(tool_calls\[0\]\) has the tool call 3",
        ),
    ],
)
def test_what_is_no_message_is_named_by_its_place_and_field(message, told):
    with pytest.raises(ConfigError, match=told) as caught:
        conversations.read([{"role": "user", "content": "Hi"}, message])
    assert (caught.value.key, caught.value.value) == ("messages", message)


# -- sessions ------------------------------------------------------------------------------------------------------


async def test_a_session_is_read_with_its_calls_and_its_times():
    memory = Memory()
    with frozen():
        for message in OPENAI[1:]:
            await memory.add(message, "s", "u")

    found = await conversations.from_session(memory.store, "s", "u")
    assert [{key: message[key] for key in ("role", "content")} for message in found] == STRANDS
    assert {message["metadata"]["created_at"] for message in found} == {"2026-01-01T00:00:00.000Z"}
    assert await conversations.from_session(memory, "s", "u") == found
    assert await conversations.from_session(memory, "s") == []


async def test_messages_of_strands_come_out_of_a_session_as_they_went_in():
    memory = Memory()
    for message in STRANDS:
        await memory.add(message)

    found = await conversations.from_session(memory)
    assert [{key: message[key] for key in ("role", "content")} for message in found] == STRANDS


async def test_a_summary_is_the_users_and_quoted():
    memory = Memory(model=SmallModel("They <talked>."), max_messages=9, recent_count=3)
    await talk(memory, 10)

    found = await conversations.from_session(memory, "s", "u")
    assert found[2]["role"] == "user"
    assert found[2]["content"] == [
        {"text": "The conversation so far, summarised:\n<summary>\nThey &lt;talked&gt;.\n</summary>"}
    ]


async def test_an_entry_of_any_role_is_the_users_where_no_conversation_has_that_role():
    memory = Memory()
    await memory.add({"role": "wei<b>rd", "content": "x"})
    await memory.add({"role": "assistant", "content": "y"})

    found = await conversations.from_session(memory)
    assert [(each["role"], each["content"]) for each in found] == [
        ("user", [{"text": "x"}]),
        ("assistant", [{"text": "y"}]),
    ]


@pytest.mark.parametrize("wrong", [None, 5, "hi", b"hi", {"role": "user", "content": "x"}])
def test_what_is_no_list_of_messages_is_refused(wrong):
    with pytest.raises(ConfigError, match="not a list of messages") as caught:
        conversations.read(wrong)
    assert caught.value.key == "messages"


def test_a_path_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="the path is 5; it must be a text or a Path"):
        conversations.load(5)


async def test_what_is_no_store_of_sessions_is_refused():
    with pytest.raises(ConfigError, match="TestMemoryStore is no store of sessions"):
        await conversations.from_session(TestMemoryStore(name="notes", persist=False))


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", [STRANDS, OPENAI, ANTHROPIC], ids=["Strands", "OpenAI", "Anthropic"])
def test_a_file_holds_a_list_or_an_object_or_a_message_a_line(tmp_path, messages):
    forms = {
        "list.json": json.dumps(messages),
        "object.json": "\ufeff" + json.dumps({"model": "m", "messages": messages}, indent=1),
        "lines.jsonl": "\n".join(map(json.dumps, messages)),
        "more.jsonl": "\ufeff" + "\r\n\r\n".join(map(json.dumps, messages)) + "\r\n",
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        assert conversations.load(tmp_path / name) == STRANDS, name


async def test_the_entries_of_a_session_are_read_from_jsonl(tmp_path):
    store = InMemoryStore()
    memory = Memory(store)
    for message in OPENAI[1:]:
        await memory.add(message)
    lines = [json.dumps(entry.to_dict()) for entry in await store.get_entries("default")]
    (tmp_path / "default.jsonl").write_text("\n".join(lines))

    assert conversations.load(tmp_path / "default.jsonl") == await conversations.from_session(store)


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text('{"role": "user", "content": "Hi"}\n{"role": "us\n')

    with pytest.raises(DamagedFileError, match=r"talk\.jsonl at line 2: not JSON") as caught:
        conversations.load(path)
    assert (caught.value.path, caught.value.place) == (path, "line 2")


def test_a_file_without_a_conversation_is_refused(tmp_path):
    (tmp_path / "odd.json").write_text('{"a": 1}')

    with pytest.raises(ConfigError, match="neither a list of messages nor an object with 'messages'"):
        conversations.load(tmp_path / "odd.json")
    with pytest.raises(ConfigError, match="there is no file or folder"):
        conversations.load(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="it has no agents/agent_"):
        conversations.load(tmp_path)


def write_session(folder, agents=("default",), messages=STRANDS):
    """Write a session as the Strands SDK lays it out."""
    for agent in agents:
        place = folder / "agents" / f"agent_{agent}" / "messages"
        place.mkdir(parents=True)
        for number, message in enumerate(messages):
            envelope = {
                "message": message,
                "message_id": number,
                "redact_message": None,
                "created_at": "2026-01-01T10:00:00.123456+02:00",
            }
            (place / f"message_{number}.json").write_text(json.dumps(envelope))


def test_a_session_of_the_strands_sdk_is_read_in_the_order_of_its_messages(tmp_path):
    many = [{"role": "user", "content": [{"text": str(number)}]} for number in range(12)]
    write_session(tmp_path / "session_1", messages=many)

    found = conversations.load(tmp_path / "session_1")
    assert [message["content"][0]["text"] for message in found] == [str(number) for number in range(12)]
    assert found[0]["metadata"] == {"created_at": "2026-01-01T08:00:00.123Z"}
    assert conversations.load(tmp_path / "session_1" / "agents" / "agent_default") == found


def test_one_agent_of_several_has_to_be_named(tmp_path):
    write_session(tmp_path, ("planner", "writer"))

    with pytest.raises(ConfigError, match="give agent=, one of 'planner', 'writer'"):
        conversations.load(tmp_path)
    with pytest.raises(ConfigError, match="give agent="):
        conversations.load(tmp_path, agent="reader")
    assert len(conversations.load(tmp_path, agent="writer")) == 4


def test_redacted_messages_and_bytes_are_read_as_the_sdk_reads_them(tmp_path):
    image = {"image": {"format": "png", "source": {"bytes": {"__bytes_encoded__": True, "data": "aGk="}}}}
    write_session(
        tmp_path, messages=[{"role": "user", "content": [image]}, {"role": "user", "content": [{"text": "x"}]}]
    )
    path = tmp_path / "agents" / "agent_default" / "messages" / "message_1.json"
    redacted = {"role": "user", "content": [{"text": "[redacted]"}]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "redact_message": redacted}))

    first, second = conversations.load(tmp_path)
    assert first["content"][0]["image"]["source"]["bytes"] == b"hi"
    assert second["content"] == redacted["content"]
