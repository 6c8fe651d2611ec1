"""The conversation on the page: written by mouse and by keyboard, and where the focus is afterwards."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("playwright", reason="These tests drive a browser with Playwright, of the extra `test`.")

from playwright.sync_api import expect

TALK = "Workbench(profile, ['I like jazz.', 'Noted.', 'Do I use a cane?'])"
HOSTILE = "<img src=x onerror=window.hit=1> $x^2$ </textarea><script>window.hit=1</script> \u202e turned"

FOCUS = "(bench) => bench.contains(document.activeElement) ? document.activeElement.getAttribute('aria-label') : null"
BOXES = "(bench) => ['.memwb-top', '.memwb-hits', '.memwb-low', '.memwb-settings'].map((each) => {" + (
    "const box = bench.querySelector(each).getBoundingClientRect(); return [box.x, box.y, box.width, box.height]; })"
)


def roles(wb):
    return [text.split("\n")[0] for text in wb.talk.locator(".memwb-message:not(details)").all_inner_texts()]


def wait_for_focus(wb, label):
    wb.page.wait_for_function(
        "([bench, label]) => bench.contains(document.activeElement)"
        " && document.activeElement.getAttribute('aria-label') === label",
        arg=[wb.root.element_handle(), label],
    )


def test_by_mouse_a_message_is_edited_added_deleted_and_each_is_undone(bench):
    wb = bench(TALK)
    before = wb.root.evaluate(BOXES)

    wb.button("Edit message 3").click()
    field = wb.talk.get_by_role("textbox", name="text")
    expect(field).to_be_focused()
    assert wb.root.evaluate(BOXES) == before
    field.fill("Am I allergic to latex?")
    wb.do(wb.button("Save").click)
    assert wb.rows()[0] == "I am allergic to latex."
    wait_for_focus(wb, "Edit message 3")

    wb.button("Add a message").click()
    wb.talk.get_by_label("Role").select_option("user")
    wb.talk.get_by_role("textbox", name="text").fill(HOSTILE)
    wb.do(wb.button("Add").click)
    assert HOSTILE.replace("\u202e", r"\u202e") in wb.talk.inner_text()
    assert wb.page.evaluate("window.hit") is None

    wb.button("Edit message 1").click()
    wb.do(wb.button("Delete").click)
    wb.talk.get_by_text("Message 1 is deleted.").wait_for()
    wait_for_focus(wb, "Edit message 1")
    for _ in range(3):
        wb.do(wb.button("Undo the last change of the messages").click)
    assert wb.talk.inner_text().endswith("Do I use a cane?\n↳ the block lands here")
    assert wb.button("Undo the last change of the messages").get_attribute("aria-disabled") == "true"
    assert wb.root.evaluate(BOXES) == before


def test_by_keyboard_a_text_is_pasted_cancelled_saved_and_undone(bench):
    wb = bench(TALK)
    press = wb.page.keyboard.press
    wb.button("Paste a conversation").focus()
    press("Enter")
    field = wb.talk.get_by_role("textbox", name="A conversation")
    expect(field).to_be_focused()
    wb.page.keyboard.insert_text("d d Enter")
    press("Escape")
    wait_for_focus(wb, "Paste a conversation")
    assert wb.talk.inner_text().endswith("Do I use a cane?\n↳ the block lands here")

    press("Enter")
    expect(field).to_be_focused()
    broken = '[{"role": "user", "content": "hi"},\n {"role": '
    wb.page.keyboard.insert_text(broken)
    press("ControlOrMeta+Enter")
    wb.talk.get_by_role("alert").wait_for()
    assert "line 2, column" in wb.talk.get_by_role("alert").inner_text()
    expect(field).to_be_focused()
    assert field.input_value() == broken

    press("ControlOrMeta+a")
    calls = [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    wb.page.keyboard.insert_text(
        json.dumps(
            [
                {"role": "user", "content": "jazz?"},
                {"role": "assistant", "content": None, "tool_calls": calls},
            ]
        )
    )
    assert wb.do(lambda: press("ControlOrMeta+Enter")).startswith("1 of 1 hit arrived")
    wb.talk.get_by_text("Pasted: OpenAI list, 2 messages, 1 tool call.").wait_for()
    wait_for_focus(wb, "Undo the last change of the messages")
    wb.do(lambda: press("Enter"))
    assert wb.talk.inner_text().endswith("Do I use a cane?\n↳ the block lands here")
    wait_for_focus(wb, "Undo the last change of the messages")


def test_what_is_typed_into_a_broken_tool_call_stays_and_its_place_is_named(bench):
    call = {
        "role": "assistant",
        "content": [{"text": "I look."}, {"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}],
    }
    wb = bench(
        f"Workbench(profile, ['I like jazz.', 'Noted.', 'Do I use a cane?'])\nawait wb.conversation.add({call!r}, at=1)"
    )
    assert "⚠ the call of 'f' ('a') has no result after it" in wb.talk.inner_text()
    wb.button("Edit message 2").click()
    wb.talk.locator("details.memwb-field > summary").click()
    field = wb.talk.get_by_role("textbox", name="toolUse f")
    field.fill('{"toolUse": ')
    wb.talk.get_by_label("Role").select_option("user")
    wb.button("+ text").click()
    expect(wb.talk.get_by_role("textbox")).to_have_count(3)
    assert (field.input_value(), wb.talk.get_by_label("Role").input_value()) == ('{"toolUse": ', "user")
    wb.button("Save").click()
    wb.talk.get_by_role("alert").wait_for()
    expect(field).to_be_focused()
    assert field.get_attribute("aria-invalid") == "true"


def test_the_settings_in_words_open_by_keyboard_and_close_by_escape(bench):
    wb = bench(TALK)
    before = wb.root.evaluate(BOXES)
    wb.button("explain…").focus()
    wb.page.keyboard.press("Enter")
    wait_for_focus(wb, "Close the settings in words")
    shown = wb.root.locator(".memwb-words-pane")
    for name in ("max_entries", "trigger", "query", "format", "placement", "stores"):
        assert f"{name} " in shown.inner_text()
    shown.get_by_text("timings: ").click()
    assert "store profile" in shown.inner_text()
    assert wb.root.evaluate(BOXES) == before
    wb.button("Close the settings in words").focus()
    wb.page.keyboard.press("Escape")
    shown.wait_for(state="hidden")
    expect(wb.button("explain…")).to_be_focused()


def test_settings_are_pinned_and_compared_on_the_page_by_keyboard_and_mouse(bench):
    wb = bench(TALK)
    wb.button("explain…").focus()
    wb.page.keyboard.press("Enter")
    shown = wb.root.locator(".memwb-words-pane")
    wb.button("Pin these settings").focus()
    wb.page.keyboard.press("Enter")
    shown.get_by_text("pinned: settings 1").wait_for()
    wb.button("Compare the settings").click()
    shown.get_by_text("settings 1: no difference").wait_for()
    shown.get_by_text("no memory: ").wait_for()


def test_hostile_text_in_every_field_is_text(bench):
    wb = bench("Workbench(profile, 'cane', injection={'trigger': lambda context: bool(context.state)})")
    shown = HOSTILE.replace("\u202e", r"\u202e")

    wb.button("Paste a conversation").click()
    wb.talk.get_by_role("textbox").fill(json.dumps([{"role": HOSTILE, "content": ""}], ensure_ascii=False))
    wb.button("Paste").click()
    assert "message 0 has the role" in wb.talk.get_by_role("alert").inner_text()
    wb.talk.get_by_role("textbox").fill(f"User: {HOSTILE}\nAssistant: {HOSTILE}\nUser: {HOSTILE}")
    wb.do(wb.button("Paste").click)
    assert wb.talk.inner_text().count(shown) == 3

    wb.button("Edit message 1").click()
    assert wb.talk.get_by_role("textbox", name="text").input_value() == HOSTILE
    wb.button("+ tool call").click()
    call = json.dumps({"toolUse": {"toolUseId": HOSTILE, "name": HOSTILE, "input": {}}}, ensure_ascii=False)
    wb.talk.get_by_role("textbox", name="tool call").fill(call[:-1])
    wb.button("Save").click()
    wb.talk.get_by_role("alert").wait_for()
    wb.talk.get_by_role("textbox", name="tool call").fill(call)
    wb.do(wb.button("Save").click)
    assert "⚠ the call of" in wb.talk.locator(".memwb-doubt").inner_text()

    wb.talk.get_by_text("state and agent").click()
    wb.button("edit state…").click()
    wb.talk.get_by_role("textbox").fill(json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False))
    wb.do(wb.button("Set state").click)
    assert wb.talk.locator("pre").first.inner_text().count(shown) == 2
    assert wb.page.evaluate("window.hit") is None
    assert wb.talk.locator("img, script").count() == 0
