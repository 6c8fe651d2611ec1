"""What is dropped before extraction: kinds of blocks, and what the injection had put into a message."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.errors import ConfigError
from memwb.memory import Filtered, MemoryManager, MemoryMessageFilter, Message
from memwb.memory.extraction import folds
from memwb.memory.extraction.filter import Dropped, Numbered, filtered
from tests.memory.extraction.host import Host, Inbox, attached, told
from tests.memory.stores import BareStore, WordStore, assistant, tool_result, tool_use, user

NONE = MemoryMessageFilter(exclude=[])


async def saved(host: Host, manager: MemoryManager, inbox: Inbox, *messages: Message) -> list[Message]:
    """Add messages, flush, and return what reached the store."""
    before = len(inbox.batches)
    host.add(*messages)
    await manager.flush()
    return [message for _, batch in inbox.batches[before:] for message in batch]


async def remembering(*, exclude: Any = NONE, **injection: Any) -> tuple[MemoryManager, Host, Inbox]:
    """A manager that injects one fact and extracts into an inbox."""
    inbox = Inbox(extraction={"filter": exclude})
    inbox.found = []
    manager, host = await attached(
        WordStore("facts", "likes tea"), inbox, injection={"trigger": "everyTurn", **injection}
    )
    return manager, host, inbox


async def test_tool_calls_are_dropped_and_numbers_stay_with_their_messages() -> None:
    inbox = Inbox()
    manager, host = await attached(inbox)
    spoken = {"role": "assistant", "content": [{"text": "let me look"}, *tool_use()["content"]]}
    host.add(user("tea?"), spoken, tool_result(), assistant("yes"))
    await manager.flush()
    assert inbox.batches == [([0, 1, 3], [user("tea?"), assistant("let me look"), assistant("yes")])]
    assert told(manager.extraction_log)[5:7] == [
        "Filtered(inbox: 1 without: toolUse)",
        "Filtered(inbox: 2 dropped whole: toolResult)",
    ]


async def test_what_is_dropped_whole_counts_as_done_without_a_call() -> None:
    inbox = Inbox()
    manager, host = await attached(inbox)
    host.add(tool_use(), tool_result())
    await manager.flush()
    assert inbox.calls == []
    assert manager.extraction_status()[0].saved == 1
    assert told(manager.extraction_log)[-2:] == [
        "Saved(inbox messages 0-1: nothing, all was dropped)",
        "Flushed(left: no message)",
    ]


async def test_a_retry_does_not_tell_again_what_was_dropped() -> None:
    inbox = Inbox(faults=[OSError("full")])
    manager, host = await attached(inbox)
    host.add(user("tea?"), tool_use())
    await manager.flush()
    await manager.flush()
    assert [event.number for event in manager.extraction_log.of(Filtered)] == [1]


async def test_metadata_of_messages_stays_and_the_agents_history_is_untouched() -> None:
    inbox = Inbox()
    manager, host = await attached(inbox)
    message = {"role": "user", "content": [{"text": "tea"}, *tool_result()["content"]], "metadata": {"n": [1]}}
    before = copy.deepcopy(message)
    assert await saved(host, manager, inbox, message) == [
        {"role": "user", "content": [{"text": "tea"}], "metadata": {"n": [1]}}
    ]
    inbox.batches[0][1][0]["metadata"]["n"].append(2)
    assert host.messages == [before]


async def test_what_a_host_takes_out_of_its_history_before_a_save_is_not_extracted() -> None:
    inbox = Inbox()
    manager, host = await attached(inbox)
    host.add(user("my card number is 4111"))
    host.messages[0]["content"] = [{"text": "(removed)"}]
    await manager.flush()
    assert inbox.batches == [([0], [user("(removed)")])]


_BLOCKS = st.sampled_from(["text", "toolUse", "toolResult", "image", "reasoningContent"]).map(lambda kind: {kind: kind})
_MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant"]),
        st.lists(_BLOCKS),
    )
)


@given(_MESSAGES, st.sets(st.sampled_from(["text", "toolUse", "toolResult", "image"])))
def test_kept_and_dropped_blocks_are_all_blocks_under_their_messages_numbers(messages: Any, exclude: Any) -> None:
    kept, dropped = filtered([Numbered(2 * at, message) for at, message in enumerate(messages)], exclude)
    for at, message in enumerate(messages):
        kinds = [next(iter(block)) for block in message["content"]]
        left = [block for block in message["content"] if next(iter(block)) not in exclude]
        assert [item.message["content"] for item in kept if item.number == 2 * at] == ([left] if left else [])
        gone = tuple(kind for kind in kinds if kind in exclude)
        expected = [Dropped(2 * at, gone, not left)] if gone or not left else []
        assert [each for each in dropped if each.number == 2 * at] == expected


class TestInjectedMemory:
    async def test_a_folded_copy_in_the_history_is_extracted_without_its_block(self) -> None:
        manager, host, inbox = await remembering()
        folded = await manager.inject([user("tea?")])
        assert len(folded[0]["content"]) == 2
        assert await saved(host, manager, inbox, *folded) == [user("tea?")]
        assert repr(manager.extraction_log.of(Filtered)[0]) == "Filtered(inbox: 0 without: injected memory)"

    async def test_a_copy_of_the_copy_too_whatever_its_host_adds_to_it(self) -> None:
        for placement in ("prepend", "append"):
            manager, host, inbox = await remembering(placement=placement)
            [folded] = json.loads(json.dumps(await manager.inject([user("tea?", "or coffee?")])))
            folded["content"].append({"cachePoint": {"type": "default"}})
            expected = {"role": "user", "content": [*user("tea?", "or coffee?")["content"], folded["content"][-1]]}
            assert await saved(host, manager, inbox, folded) == [expected]

    async def test_a_message_that_was_folded_into_again_and_again_is_the_users_own(self) -> None:
        manager, host, inbox = await remembering(placement="append")
        once = await manager.inject([user("tea?")])
        twice = await manager.inject(once)
        assert len(twice[0]["content"]) == 3
        assert await saved(host, manager, inbox, *copy.deepcopy(twice)) == [user("tea?")]

    async def test_a_block_beside_a_tool_result_is_dropped_with_it(self) -> None:
        manager, host, inbox = await remembering(query=lambda context: "tea")
        history = [user("tea?"), tool_use(), tool_result()]
        folded = await manager.inject(history)
        assert await saved(host, manager, inbox, *folded) == history

    async def test_a_host_that_folds_into_its_own_message_later_is_seen_through(self) -> None:
        manager, host, inbox = await remembering()
        host.add(user("tea?"))
        host.messages[0]["content"] = (await manager.inject(host.messages))[0]["content"]
        await manager.flush()
        assert inbox.batches == [([0], [user("tea?")])]

    async def test_what_a_user_writes_is_extracted_however_it_looks(self) -> None:
        manager, host, inbox = await remembering()
        [folded] = await manager.inject([user("tea?")])
        block = folded["content"][0]["text"]
        assert block.startswith("<memory>")
        pasted = [user(block), user(f"{block}\ntea?"), user("coffee?", block), user("<memory>tea?</memory>")]
        assert await saved(host, manager, inbox, *pasted) == pasted

    async def test_a_users_word_that_equals_an_injected_text_is_extracted(self) -> None:
        manager, host, inbox = await remembering(format=lambda context: "tea")
        await manager.inject([user("tea or coffee?")])
        assert await saved(host, manager, inbox, user("tea"), user("coffee", "tea")) == [
            user("tea"),
            user("coffee", "tea"),
        ]

    async def test_a_message_that_held_nothing_else_is_dropped_whole(self) -> None:
        manager, host, inbox = await remembering(query=lambda context: "tea", exclude=MemoryMessageFilter(["image"]))
        image = {"role": "user", "content": [{"image": {"format": "png"}}]}
        assert await saved(host, manager, inbox, *(await manager.inject([image]))) == []

    async def test_a_manager_that_extracts_nothing_remembers_nothing(self) -> None:
        manager = MemoryManager([BareStore("facts", "likes tea")])
        assert len((await manager.inject([user("tea?")]))[0]["content"]) == 2
        assert manager.extraction_status() == []

    async def test_only_the_latest_injections_are_remembered_and_what_a_host_does_to_a_block_breaks_nothing(
        self, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(folds, "REMEMBERED", 2)
        manager, host, inbox = await remembering(format=lambda context: f"known: {context.entries[0].content}")
        first, *later = [(await manager.inject([user(f"tea {at}?")]))[0] for at in range(3)]
        for folded in later:
            folded["content"][0]["text"] += "!"
        assert len((await manager.inject([user("tea 3?")]))[0]["content"]) == 2
        assert await saved(host, manager, inbox, first) == [first]


@pytest.mark.parametrize("given", [[], (), "", 0, False, {}], ids=repr)
def test_a_filter_that_is_none_is_refused_also_when_it_is_empty(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"extraction filter .*; write MemoryMessageFilter\(exclude="):
        MemoryManager([Inbox(extraction={"filter": given})])


def test_none_as_a_filter_is_the_default() -> None:
    manager = MemoryManager([Inbox(extraction={"filter": None})])
    assert manager.extraction["inbox"].filter == MemoryMessageFilter()
