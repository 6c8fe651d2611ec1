"""The comparison's panel: settings are pinned on it, compared, and what it shows stays text."""

from __future__ import annotations

import pytest

from memwb import Workbench
from memwb.errors import ConfigError
from memwb.widgets.panes.comparison import comparison_pane
from memwb.widgets.panes.settings import settings
from tests.widgets.reading import read

FACTS = ["I use a cane.", "I use a bike.", "My desk is by the window."]
HOSTILE = "<img src=x onerror=alert(1)> I use $x$ \x00 it"


@pytest.fixture
async def wb():
    wb = await Workbench(FACTS, ["What is by the window?", "Your desk.", "What do I use?"])
    yield wb
    wb.close()


async def act(panel, **message):
    """Send what an element of the page would send, and wait until it is done."""
    panel._act(message)
    await panel


async def test_settings_are_pinned_compared_and_unpinned_on_the_page(wb):
    panel = await wb.comparison()
    assert repr(panel) == "Comparison(nothing was compared yet)"
    await act(panel, do="pin", form=True, values={"name": " all "})
    await act(panel, do="pin", enter=True, value="again")
    await act(panel, do="unpin", name="again")
    assert list(wb.arms) == ["all"]

    await wb.set(max_entries=1)
    await act(panel, do="compare", calls="open")
    assert panel.comparison.arms == ("now", "all", "now, other placement", "no memory")
    assert "1 added" in read(comparison_pane(panel.state))
    await act(panel, do="compare", calls="all")
    assert len(panel.comparison.calls) == 2
    panel.close()


async def test_a_change_makes_the_comparison_an_old_one_and_another_ends_that(wb):
    panel = await wb.comparison()
    await panel.pin("all")
    await panel.compare()
    assert not panel.state.old
    await wb.set(max_entries=1)
    assert panel.state.old
    assert "compare again" in read(comparison_pane(panel.state))
    await panel.compare()
    assert not panel.state.old
    await panel.unpin("all")
    assert panel.state.old
    panel.close()


async def test_what_is_refused_is_told_on_the_page(wb):
    panel = await wb.comparison()
    await act(panel, do="pin", enter=True, value="now")
    assert "pin needs a name" in read(comparison_pane(panel.state))
    with pytest.raises(ConfigError, match="none is pinned"):
        await panel.unpin("x")
    panel.close()


async def test_the_cell_gives_what_the_panel_gives(wb):
    wb.pin("all")
    await wb.set(max_entries=1)
    panel = await wb.comparison()
    found = await wb.compare(placements=True)
    assert repr(found) == repr(await panel.compare())
    wb.unpin("all")
    assert wb.arms == {}
    panel.close()


async def test_hostile_entries_and_names_are_texts_of_the_tree():
    wb = await Workbench([HOSTILE], "What do I use?")
    panel = await wb.comparison()
    await panel.pin("<b>arm</b>")
    await panel.compare()
    tree = comparison_pane(panel.state)
    assert "<img src=x onerror=alert(1)>" in read(tree)
    assert "<img" not in tree.to_html()
    assert "<b>" not in tree.to_html()
    wb.close()
    panel.close()


async def test_the_settings_in_words_pin_too_and_an_open_panel_follows(wb):
    panel = await wb.comparison()
    assert "to compare others with them" in read(settings(wb.state))
    for _ in range(2):
        wb._controls._act({"do": "pin"})
        await wb
    assert list(wb.arms) == ["settings 1", "settings 2"]
    assert "pinned: settings 1, settings 2." in read(settings(wb.state))
    assert "settings 2" in str(panel._view.tree)
    wb.unpin("settings 2")
    assert "settings 2" not in str(panel._view.tree)
    panel.close()
