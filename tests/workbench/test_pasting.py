"""What a pasted text is recognised as, and what is said about one that cannot be read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.workbench.pasting import recognise

STRANDS = [
    {"role": "user", "content": [{"text": "What does it cost?"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "price", "input": {"of": "cane"}}}]},
    {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "a", "status": "success", "content": [{"text": "19 EUR"}]}}],
    },
]
OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "What does it cost?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "price", "arguments": '{"of": "cane"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "19 EUR"},
]
ANTHROPIC = [
    {"role": "user", "content": "What does it cost?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "price", "input": {"of": "cane"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "19 EUR"}]},
]
PLAIN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (STRANDS, "Strands list, 3 messages, 1 tool call"),
        (OPENAI, "OpenAI list, 3 messages, 1 tool call, 1 system message at the start left out"),
        (ANTHROPIC, "Anthropic list, 3 messages, 1 tool call"),
    ],
)
def test_the_same_talk_is_recognised_in_every_form(given, told):
    forms = [json.dumps(given), json.dumps(given, indent=2), json.dumps({"model": "m", "messages": given}), repr(given)]
    for text in forms:
        pasted = recognise(f"\n{text}\n")
        assert (str(pasted), pasted.messages) == (told, STRANDS)
    pasted = recognise("\n".join(map(json.dumps, given)) + "\n")
    assert (str(pasted), pasted.messages) == (told.replace("list", "JSONL"), STRANDS)


def test_items_of_openais_newer_api_and_a_fence_around_them():
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "What does it cost?"}]},
        {"type": "function_call", "call_id": "a", "name": "price", "arguments": '{"of": "cane"}', "id": "fc_1"},
        {"type": "function_call_output", "call_id": "a", "output": "19 EUR"},
    ]
    pasted = recognise(f"```json\n{json.dumps({'model': 'm', 'input': items}, indent=1)}\n```\n")
    assert (str(pasted), pasted.messages) == ("OpenAI list, 3 messages, 1 tool call", STRANDS)
    with pytest.raises(ConfigError, match="line 2, column 3: it begins like JSON"):
        recognise("```json\n[{,\n```")


@pytest.mark.parametrize(
    ("text", "told", "said"),
    [
        (json.dumps(PLAIN), "OpenAI or Anthropic list, 2 messages", ["hi", "hello"]),
        (json.dumps(PLAIN[0]), "OpenAI or Anthropic list, 1 message", ["hi"]),
        ('["hi", "hello", "bye"]', "list of texts, 3 messages", ["hi", "hello", "bye"]),
        ("User: hi\nthere\n\nAssistant: hello\n", "lines of a dialogue, 2 messages", ["hi\nthere", "hello"]),
        ("**Human:** hi\n**AI**: hello", "lines of a dialogue, 2 messages", ["hi", "hello"]),
        ("You said:\nhi\nChatGPT said:\nhello", "lines of a dialogue, 2 messages", ["hi", "hello"]),
        (
            "System: Be kind.\nUser: hi",
            "lines of a dialogue, 1 message, 1 system message at the start left out",
            ["hi"],
        ),
        ("[sigh] I do not know: what now?", "one text, 1 message", ["[sigh] I do not know: what now?"]),
        ("Dear all,\nUser: is a word", "one text, 1 message", ["Dear all,\nUser: is a word"]),
        ("{name} is here", "one text, 1 message", ["{name} is here"]),
    ],
)
def test_lists_lines_and_texts(text, told, said):
    pasted = recognise(text)
    assert (str(pasted), repr(pasted)) == (told, f"Pasted({told})")
    assert [message["content"][0]["text"] for message in pasted.messages] == said
    assert pasted.messages[-1]["role"] == ("user" if len(said) % 2 else "assistant")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (5, "the text is int; paste a list"),
        (" \n", "the text is empty"),
        ("[]", "the list is empty"),
        (
            '[\n {"role": "user", "content": "hi"},\n {"role": "user"\n',
            "line 4, column 1: it begins like JSON, but",
        ),
        (
            '[\n {"role": "user", "content": "hi"},\n {"role": "robot", "content": ""}]',
            "line 3: message 1 has the role",
        ),
        ('{"role": "user", "content": "hi"}\n{"role": ', "line 2: "),
        (
            '{"role": "user", "content": "hi"}\n\n{"role": "robot", "content": ""}',
            "line 3: message 1 has the role",
        ),
        ('[{"role": "user", "content": "\ud83d"}]', "line 1: it begins like JSON, but there is half of a"),
        ('{"content": "hi"}', "message 0 has the role None"),
        ('[{"role": "system", "content": "obey"}]', "there is no message of the user or the assistant in it"),
        ("System: obey", "there is no message of the user or the assistant in it"),
        ("[" * 5000, "nest too deep"),
        (
            '{"title": "t", "mapping": {}}',
            "it is an object with 'title', 'mapping'; a message has 'role' and 'content'",
        ),
        ("[[1], 2]", "message 0 is list, not a dict"),
    ],
)
def test_what_cannot_be_read_is_named_with_line_and_reason(text, told):
    with pytest.raises(ConfigError) as refused:
        recognise(text)
    assert str(refused.value).startswith("Paste: ")
    assert told in str(refused.value)
    assert str(refused.value).endswith("Nothing was changed.")


def readable_or_refused(text):
    try:
        return bool(recognise(text).messages)
    except ConfigError as error:
        return str(error).startswith("Paste: ")


@given(st.text() | st.text(alphabet="[]{}\",: \n'role1ustx"))
def test_any_text_is_read_or_refused_in_words(text):
    assert readable_or_refused(text)
