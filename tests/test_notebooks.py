"""How the notebooks are tested, shown on a small project with the same settings: strictly, in order, isolated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbval", reason="Notebooks are tested with nbval, of the extra `test`.")

from nbformat import v4, write

import memwb
from tests.jupyter_env import FOLDERS

PROJECT = Path(__file__).parents[1]
SHARED = ["pyproject.toml", "notebooks/conftest.py", "notebooks/nbval_sanitize.cfg", "tests/jupyter_env.py"]

VOLATILE = """
import uuid, warnings
from IPython.display import display
warnings.warn("told", stacklevel=1)
display(object(), uuid.uuid4())
"""


@pytest.fixture
def tested(tmp_path, monkeypatch):
    """Call it with cells and what they are said to print: they become a notebook, which is tested."""
    for name in SHARED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", "/no/such/folder")

    def run(*cells, options=()):
        code = [v4.new_code_cell(source, outputs=outputs, execution_count=1) for source, outputs in cells]
        write(v4.new_notebook(cells=code), tmp_path / "notebooks" / "lesson.ipynb")
        command = [sys.executable, "-m", "pytest", "-q", *options, "notebooks"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    return run


def printed(text):
    return [v4.new_output("stream", name="stdout", text=text)]


def test_cells_run_from_top_to_bottom_though_other_tests_run_in_any_order(tested):
    cells = [("n = 0", []), *[(f"assert n == {n}; n += 1", []) for n in range(9)]]

    for seed in (1, 2):
        code, output = tested(*cells, options=[f"--randomly-seed={seed}"])
        assert (code, "10 passed" in output) == (0, True), output


def test_an_output_that_differs_fails(tested):
    code, output = tested(("print(1 + 1)", printed("3\n")))

    assert (code, "1 failed" in output) == (1, True), output


def test_what_differs_at_every_run_is_no_difference(tested):
    warning = '/tmp/ipykernel_1/2.py:3: UserWarning: told\n  warnings.warn("told", stacklevel=1)\n'
    outputs = [
        v4.new_output("stream", name="stderr", text=warning),
        v4.new_output("display_data", data={"text/plain": "<object at 0x7f0000000000>"}),
        v4.new_output("display_data", data={"text/plain": "UUID('00000000-0000-0000-0000-000000000000')"}),
    ]

    code, output = tested((VOLATILE, outputs))
    assert code == 0, output


def test_kernels_see_nothing_of_the_persons_own_jupyter(tested):
    source = f"import os\nprint([os.path.isdir(os.environ[name]) for name in {FOLDERS}])"

    code, output = tested((source, printed(f"{[True] * len(FOLDERS)}\n")))
    assert code == 0, output


def test_this_very_run_is_isolated_as_well():
    assert [name for name in FOLDERS if not Path(os.environ[name]).is_dir()] == []


def test_the_rules_that_users_get_are_those_of_the_notebooks():
    assert memwb.testing.sanitize_file().read_text() == (PROJECT / "notebooks" / "nbval_sanitize.cfg").read_text()
