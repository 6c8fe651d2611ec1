"""The notebooks as one course: what each of them has, what they link to, and what is seen of them without a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="Notebooks are read with nbformat, of the extra `lab`.")

PROJECT = Path(__file__).parents[1]
FOLDER = PROJECT / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [path.stem for path in PATHS]


@pytest.fixture(params=PATHS, ids=NAMES)
def notebook(request):
    """Each notebook in turn."""
    return nbformat.read(request.param, 4)


def prose(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_chapters_are_numbered_without_a_gap():
    assert [int(name[:2]) for name in NAMES] == list(range(len(NAMES)))


def test_a_notebook_asks_one_question(notebook):
    titles = [line for text in prose(notebook) for line in text.splitlines() if line.startswith("# ")]

    assert len(titles) == 1
    assert "?" in titles[0]


def test_a_notebook_has_ten_to_twenty_cells_of_code_without_its_solutions(notebook):
    solutions = [cell for cell in code(notebook) if "solution" in cell.metadata.get("tags", [])]

    assert 10 <= len(code(notebook)) - len(solutions) <= 20


def test_a_notebook_ends_with_two_exercises_whose_solutions_are_folded_and_run(notebook):
    last = notebook.cells[-3:]

    assert [cell.cell_type for cell in last] == ["markdown", "code", "code"]
    assert last[0].source.startswith("## Exercises")
    assert re.findall(r"^(\d)\. ", last[0].source, flags=re.MULTILINE) == ["1", "2"]
    for cell in last[1:]:
        assert (cell.metadata["jupyter"], cell.metadata["tags"]) == (
            {"source_hidden": True, "outputs_hidden": True},
            ["solution"],
        )
        assert cell.outputs, "a solution shows something, which is compared at every run"


def test_no_cell_is_kept_out_of_the_comparison(notebook):
    tags = {tag for cell in code(notebook) for tag in cell.metadata.get("tags", [])}

    assert tags <= {"solution"}
    assert not any("NBVAL" in cell.source for cell in code(notebook))


def test_what_a_notebook_links_to_exists(notebook):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", "\n".join(prose(notebook)))

    assert [target for target in targets if not (FOLDER / target).exists()] == []


def test_a_notebook_without_a_kernel_still_shows_what_it_showed(notebook):
    exporter = pytest.importorskip("nbconvert", reason="Pages are made by nbconvert, which JupyterLab brings.")
    page, _ = exporter.HTMLExporter(template_name="lab").from_notebook_node(notebook)
    shown = [output.data for cell in code(notebook) for output in cell.outputs if "data" in output]
    html = "".join(data.get("text/html", "") for data in shown)

    assert "widget-view" not in page, "a view needs a kernel; the still stands in for it"
    assert all("text/plain" in data for data in shown)
    for part in ('class="dataframe"', 'class="memwb-still', "<table", "<img"):
        assert page.count(part) >= html.count(part), part


def test_the_quickstart_shows_a_still_of_the_workbench_where_there_is_no_kernel():
    (quickstart,) = [path for path in PATHS if path.stem == "01_quickstart"]
    stills = [
        output.data["text/html"]
        for cell in code(nbformat.read(quickstart, 4))
        for output in cell.outputs
        if "memwb-still" in output.get("data", {}).get("text/html", "")
    ]

    assert len(stills) >= 3
    assert "I have moderate mobility issues and use a cane for support." in stills[0]


def test_binder_installs_what_all_notebooks_need_and_opens_the_quickstart():
    lines = (PROJECT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    start = PROJECT / "binder" / "start"

    assert [line for line in lines if not line.startswith("#")] == [".[notebooks]"]
    assert "default_url=/lab/tree/notebooks/01_quickstart.ipynb" in start.read_text(encoding="utf-8")
    assert start.stat().st_mode & 0o111, "it is run as a program"
