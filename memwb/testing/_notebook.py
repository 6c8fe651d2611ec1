"""A notebook that holds a case folder's figures and blocks, as outputs that nbval compares."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .. import _files
from ..errors import ConfigError

NOTEBOOK = "regression.ipynb"

_BEGIN = """\
from memwb.evaluation import load_folder
from memwb.testing import frozen

frozen().start()  # the clock and new ids are the same in every run
folder = load_folder(".")
"""

_CELLS = (
    """\
# What the model gets of its memory

The outputs below are what the cases in this folder get. `pytest --nbval` runs the cells and fails, with the difference,
when a figure or a block is another one: because of the settings, the stores, a callback, or memwb itself. If the
change is meant, `memwb update` with this folder renews the baseline and these outputs. Each cell stands alone, so that
they pass in any order.
""",
    f"""\
{_BEGIN}await folder.evaluate()""",
    """\
## Beside the baseline
""",
    f"""\
{_BEGIN}await folder.check()""",
    """\
## The blocks of the first cases, word for word
""",
    f"""\
{_BEGIN}for (setting, case), block in (await folder.run_blocks(5)).items():
    print(f"--- {{case}}, setting {{setting!r}}\\n{{block.text or 'nothing is injected'}}\\n")""",
)


def write_notebook(folder: Path) -> Path:
    """Write the notebook into a case folder, with its outputs.

    Raises:
        ConfigError: It is there already, or it cannot be run.
    """
    path = folder / NOTEBOOK
    if path.exists():
        raise ConfigError(
            f"{path} exists already. `memwb update {folder}` renews its outputs.", key="folder", value=str(folder)
        )
    cells: list[dict[str, Any]] = []
    for number, text in enumerate(_CELLS):
        cell: dict[str, Any] = {
            "cell_type": "code" if number % 2 else "markdown",
            "id": f"cell-{number}",
            "metadata": {},
        }
        extra: dict[str, Any] = {"execution_count": None, "outputs": []} if number % 2 else {}
        cells.append({**cell, **extra, "source": text.rstrip("\n")})
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    run_notebook(path, json.dumps(notebook))
    return path


def run_notebook(path: Path, source: str | None = None) -> None:
    """Run a notebook in its folder and write it with its outputs; it is written whole, or stays as it was.

    Args:
        path: The notebook.
        source: Its text; None for what the file holds.

    Raises:
        ConfigError: A package that runs notebooks is missing, or a cell raised; the message shows it.
    """
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        raise ConfigError(
            f"Running {path.name} needs the package {error.name} (`pip install nbclient ipykernel`, or the extra "
            '`lab`: `pip install "memwb[lab]"`).',
            key="notebook",
            value=str(path),
        ) from None
    notebook = nbformat.reads(path.read_text(encoding="utf-8") if source is None else source, as_version=4)
    where = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=600, store_widget_state=False, resources=where)
    try:
        client.execute()
    except CellExecutionError as error:
        raise ConfigError(
            f"{path} was not written: a cell raised {error.ename}: {error.evalue}", key="notebook", value=str(path)
        ) from error
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the run
    notebook.metadata["language_info"] = {"name": "python"}  # not the version, which differs from machine to machine
    _files.replace(_files.resolve(path), (nbformat.writes(notebook) + "\n").encode("utf-8"))
