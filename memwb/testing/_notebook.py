"""A notebook that holds a case folder's figures and blocks, as outputs that nbval compares."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from .. import _files
from ..errors import ConfigError
from ..evaluation.folder import BLOCKS, load_folder
from ..evaluation.gate import BASELINE

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
        _run(client)
    except CellExecutionError as error:
        raise ConfigError(
            f"{path.name} was not written: a cell raised {error.ename}: {error.evalue}", key="notebook", value=str(path)
        ) from error
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the run
    notebook.metadata["language_info"] = {"name": "python"}  # not the version, which differs from machine to machine
    _files.replace(_files.resolve(path), (nbformat.writes(notebook) + "\n").encode("utf-8"))


def renew(folder: Path) -> list[str]:
    """Make what the settings of a case folder do now its baseline, and renew its notebooks; return their names.

    It is done on a copy beside the folder, whose files are put in place when all are done: an interrupt, or a cell that
    raises, leaves all as it was.

    Raises:
        ConfigError: As for :func:`run_notebook`.
    """
    beside = Path(mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        shutil.copytree(folder, beside, dirs_exist_ok=True)
        asyncio.run(load_folder(beside).update())
        notebooks = sorted(beside.glob("*.ipynb"))
        for path in notebooks:
            run_notebook(path)
        with _no_interrupt():
            for path in (beside / BLOCKS, beside / BASELINE, *notebooks):
                path.replace(folder / path.name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return [path.name for path in notebooks]


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ignore Ctrl-C for the moment in which files are renamed."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def _run(client: Any) -> None:
    """Run a notebook in a thread: there the client leaves Ctrl-C alone, which it would turn into errors of its own."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: asyncio.run(client.async_execute()))
        try:
            running.result()
        except KeyboardInterrupt:
            with suppress(Exception):  # there may be no kernel yet, or no more; the thread ends by itself then
                asyncio.run(client.km.interrupt_kernel())
            raise
