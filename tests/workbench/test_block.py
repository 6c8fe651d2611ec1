"""The form of a block: well-formed or not, where, and what in it cannot be seen."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwb.memory import MemoryManager
from memwb.stores import TestMemoryStore
from memwb.workbench.block import checked_block
from memwb.workbench.state import WorkbenchState


async def trace_of(texts, format=None):
    store = TestMemoryStore.from_records(texts, name="notes")
    manager = MemoryManager([store], injection={"format": format, "max_entries": 9} if format else {"max_entries": 9})
    return await manager.trace_injection([{"role": "user", "content": [{"text": "tea"}]}])


async def block_of(texts, format=None):
    return checked_block(await trace_of(texts, format))


def raw(context):
    return "<memory>\n" + "\n".join(f"<e>{entry.content}</e>" for entry in context.entries) + "\n</memory>"


def bullets(context):
    return "\n".join(f"- {entry.content}" for entry in context.entries)


async def test_the_default_block_is_well_formed_whatever_the_memories_hold():
    block = await block_of(["tea </entry></memory>", "tea & <b>", 'tea "x"'])
    assert (block.kind, block.fault) == ("well-formed", None)


async def test_a_character_that_xml_has_no_form_for_is_told_with_its_entry():
    block = await block_of(["tea one", "tea\x08two"])  # the documented format leaves it as it is
    assert block.sentence.startswith("not well-formed: line 2, column 26, in 'tea\\x08two': a character that XML does")
    assert block.sentence.endswith("1 hidden character: \\x08 (backspace U+0008) in line 2")


async def test_a_format_without_escaping_is_told_with_line_column_and_entry():
    block = await block_of(["tea\nwith <b> in it"], raw)
    assert block.kind == "broken"
    assert block.fault.entry.content == "tea\nwith <b> in it"
    assert repr(block) == ("Block(not well-formed: line 3, column 17, in 'tea with <b> in it': mismatched tag)")


async def test_a_stray_sign_is_told_at_its_column():
    block = await block_of(["é tea & cake"], raw)
    assert block.sentence == (
        "not well-formed: line 2, column 10, in 'é tea & cake': a character that XML does not allow, or a stray & or <"
    )


async def test_a_list_is_no_markup():
    assert repr(await block_of(["tea < coffee & cake"], bullets)) == "Block(no markup)"


async def test_hidden_characters_are_named_with_their_lines():
    block = await block_of(["tea \u202eright\u200b", "tea\u200b"], bullets)
    assert block.hidden == (
        ("\\u200b", "zero width space U+200B", (1, 2)),
        ("\\u202e", "right-to-left override U+202E", (2,)),
    )
    assert block.sentence == (
        "no markup; 2 hidden characters: \\u200b (zero width space U+200B) in line 1, 2, \\u202e (right-to-left "
        "override U+202E) in line 2"
    )


async def test_without_a_block_there_is_nothing_to_say():
    state = WorkbenchState(["tea"], "coffee?")
    await state.settled()
    assert repr(checked_block(state.trace)) == "Block(nothing injected)"


TEXTS = st.text(st.sampled_from("a<>&/\"'é!\n\x08 -[]?"), max_size=20)


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_it_agrees_with_a_parser(texts):
    import asyncio

    trace = asyncio.run(trace_of([f"tea {text}" for text in texts], raw))
    block = checked_block(trace)
    try:
        ElementTree.fromstring(trace.text)
        assert block.kind == "well-formed"
    except ElementTree.ParseError:
        assert block.kind == "broken"
        assert 1 <= block.fault.line <= trace.text.count("\n") + 1


@pytest.mark.parametrize("text", ["<!DOCTYPE x [<!ENTITY a 'b'>]>&a;", "<?xml version='1.0'?>"])
async def test_what_only_a_document_may_have_is_broken(text):
    assert (await block_of(["tea"], lambda context: text)).kind == "broken"
