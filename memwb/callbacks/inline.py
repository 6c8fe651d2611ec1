"""What a callback imports of memwb, as source that needs nothing of memwb, for modules that are written out."""

from __future__ import annotations

import ast
import inspect
import textwrap
from importlib import import_module
from types import FunctionType
from typing import Any

from ..errors import ConfigError
from ..ranking import STOP_WORDS, stopwords
from .complete import unknown_names
from .filters import said
from .source import source_of

_SAID = """\
from contextvars import ContextVar

# What the conversation of the present model call says: the query keeps it for the format.
said = ContextVar("said")
"""


def is_memwbs(function: Any) -> bool:
    """Whether it is a function of memwb's own."""
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "memwb"


def without_memwb(text: str) -> tuple[tuple[str, ...], str]:
    """Return the source of what a text imports of memwb, in pieces, and the text without these imports.

    Raises:
        ConfigError: It imports what has no source that can stand alone; it is named.
    """
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    parts: dict[str, None] = {}
    for body in _bodies(tree):
        imports = [one for one in body if isinstance(one, ast.Import | ast.ImportFrom) and _of_memwb(one)]
        for one in imports:
            for alias in one.names:
                parts.update(dict.fromkeys(_parts(one, alias)))
            _leave_out(lines, one, alone=len(imports) == len(body))
    return tuple(parts), "".join(lines)


def _bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    found = [getattr(node, name, None) for node in ast.walk(tree) for name in ("body", "orelse", "finalbody")]
    return [body for body in found if isinstance(body, list)]


def _of_memwb(statement: ast.Import | ast.ImportFrom) -> bool:
    names = [statement.module or ""] if isinstance(statement, ast.ImportFrom) else [one.name for one in statement.names]
    return any(name.partition(".")[0] == "memwb" for name in names)


def _parts(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, ...]:
    found = None
    if isinstance(statement, ast.ImportFrom) and alias.asname in (None, alias.name):
        found = getattr(import_module(statement.module or ""), alias.name, None)
    if found is STOP_WORDS:
        return (_stop_words(),)
    if found is said:
        return (_SAID,)
    source = source_of(found) if isinstance(found, FunctionType) and is_memwbs(found) else None
    if source is None or _outside(source):
        raise ConfigError(
            f"has `{ast.unparse(statement)}`, and the module is to run without memwb. What can be written out are the "
            "ready callbacks, memwb.text and memwb.ranking.STOP_WORDS: `from memwb import text`",
            key="import",
            value=alias.name,
        )
    parts, rest = without_memwb(source)
    return (*parts, rest)


def _outside(source: str) -> bool:
    """Whether a function of memwb uses names of its module."""
    return any(True for _ in unknown_names(source, ast.parse(source)))


def _leave_out(lines: list[str], statement: ast.stmt, *, alone: bool) -> None:
    """Take a statement out of the lines; where nothing else stands beside it, a pass takes its place."""
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    before = lines[first].encode()[: statement.col_offset].decode()
    after = lines[last].encode()[statement.end_col_offset :].decode()
    whole = not before.strip() and not after.strip() and not alone
    lines[first] = "" if whole else f"{before}pass{after}"
    for at in range(first + 1, last + 1):
        lines[at] = ""
    if whole and last + 1 < len(lines) and not lines[last + 1].strip():
        lines[last + 1] = ""  # the blank line that set the imports off


def _stop_words() -> str:
    """Return the list with the note that its licence asks for."""
    lines = inspect.cleandoc(stopwords.__doc__ or "").splitlines()
    note = "\n".join(f"# {line}".rstrip() for line in lines)
    words = textwrap.fill(" ".join(sorted(STOP_WORDS)), 108, initial_indent="    ", subsequent_indent="    ")
    return f'{note}\nSTOP_WORDS = frozenset(\n    """\n{words}\n    """.split()\n)\n'
