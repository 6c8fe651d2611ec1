"""What a workbench in a saved notebook keeps for pages without a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import memwb
import memwb.testing

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def as_before():
    yield
    memwb.options(stills=True, redact=None)


@pytest.fixture
async def wb():
    wb = await memwb.Workbench(["I use a cane."], "What do I use?")
    yield wb
    wb.close()


async def test_a_settled_workbench_keeps_its_still_beside_its_view(wb):
    bundle = wb._repr_mimebundle_()
    assert set(bundle) == {"text/plain", VIEW, "text/html"}
    assert bundle["text/html"] == wb.still().html


async def test_stills_can_be_switched_off_and_what_is_not_settled_has_none(wb):
    memwb.options(stills=False)
    assert set(wb._repr_mimebundle_()) == {"text/plain", VIEW}
    memwb.options(stills=True)
    wb.state.put(max_entries=1)
    assert set(wb._repr_mimebundle_()) == {"text/plain", VIEW}


async def test_the_sanitize_file_drops_the_still(wb):
    sanitize = Path(memwb.testing.__file__).with_name("nbval_sanitize.cfg").read_text("utf-8")
    html = wb.still().html
    for regex, replace in re.findall("^regex: (.*)$\n^replace: (.*)$", sanitize, re.MULTILINE):
        html = re.sub(regex, replace, html)
    assert html == "<STILL>"
