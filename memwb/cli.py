"""The command ``memwb``: it holds case folders to their baselines, in a shell or a continuous integration.

Exit codes: 0 all is as good as before, 1 something is worse, 2 wrong usage or a folder that cannot be used, 130
interrupted. What takes time to import is imported by the command that needs it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .evaluation.folder import CaseFolder

__all__ = ["main"]

_EXIT_CODES = "exit codes: 0 as good as before, 1 worse, 2 wrong usage or a folder that cannot be used, 130 interrupted"
_DEMO = ("ikat-demo", "2024-test/11")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        arguments: The command line without the program's name; None: that of the process.
    """
    given = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # memories hold letters that not every terminal knows
    from .errors import MemwbError

    try:
        code: int = given.run(given)
    except KeyboardInterrupt:
        print("memwb: interrupted", file=sys.stderr)
        return 130
    except (MemwbError, OSError) as error:
        print(f"memwb: {error}", file=sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memwb", description="Hold an agent's memory to what it did before.", epilog=_EXIT_CODES
    )
    parser.add_argument("--version", action="version", version=f"memwb {vars(sys.modules['memwb'])['__version__']}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    text = "run the cases of a folder and compare them with its baseline"
    one = commands.add_parser("eval", help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=_EXIT_CODES)
    one.add_argument("folder", type=Path, metavar="FOLDER", help="a case folder")
    one.add_argument("--metric", help="compare the mean of this figure, such as recall@5 (default: case by case)")
    one.add_argument(
        "--tolerance", type=float, default=0.0, metavar="T", help="by how much it may be worse (default: 0)"
    )
    one.add_argument("--json", action="store_true", help="print the result as JSON")
    one.set_defaults(run=_eval)

    text = "make what the settings do now the baseline of a folder, and renew the outputs of its notebooks"
    one = commands.add_parser("update", help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=_EXIT_CODES)
    one.add_argument("folder", type=Path, metavar="FOLDER", help="a case folder")
    one.set_defaults(run=_update)

    text = "write a notebook that `pytest --nbval` holds to its outputs into a case folder; a new folder gets a demo"
    one = commands.add_parser(
        "new-regression", help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=_EXIT_CODES
    )
    one.add_argument("folder", type=Path, metavar="FOLDER", help="a case folder, or where a new one shall be")
    one.set_defaults(run=_new_regression)
    return parser


def _eval(given: argparse.Namespace) -> int:
    import asyncio

    from .evaluation.folder import load_folder

    with redirect_stdout(sys.stderr):  # what a callback prints is no part of the answer
        result = asyncio.run(load_folder(given.folder).compare(given.metric, given.tolerance))
    if given.json:
        import json

        print(json.dumps({"folder": str(given.folder), **result.to_dict()}, ensure_ascii=False, indent=2))
    else:
        print(result)
    return 0 if result.ok else 1


def _update(given: argparse.Namespace) -> int:
    import asyncio

    from .evaluation.folder import load_folder
    from .testing._notebook import renew

    folder = load_folder(given.folder)
    if folder.baseline is not None:
        print(f"Before the update:\n{asyncio.run(folder.compare())}\n")
    notebooks = renew(folder.path)
    print(f"{given.folder}: the baseline is what the settings do now.")
    for name in notebooks:
        print(f"{name}: the outputs are renewed.")
    return 0


def _new_regression(given: argparse.Namespace) -> int:
    import asyncio

    from .evaluation.folder import load_folder
    from .testing._notebook import write_notebook

    if given.folder.exists() and (not given.folder.is_dir() or any(given.folder.iterdir())):
        folder = load_folder(given.folder)
    else:
        folder = asyncio.run(_demo(given.folder))
        print(f"{given.folder}: a case folder with demo data. Put your own in its place.")
    path = write_notebook(folder.path)
    print(f"{path.name}: test it with `pytest --nbval {given.folder / path.name}`")
    return 0


async def _demo(path: Path) -> CaseFolder:
    from .callbacks import last_two_messages
    from .datasets import load
    from .evaluation.folder import save_folder

    return await save_folder(path, None, load(*_DEMO), {"default": {}, "two_messages": {"query": last_two_messages}})
