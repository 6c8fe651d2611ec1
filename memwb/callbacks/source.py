"""Callbacks as text: what an editor opens with, and what an export writes."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from functools import partial
from types import FunctionType
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class HasSource(Protocol):
    """A callback that is no function, and has a source all the same."""

    @property
    def source(self) -> str | None:
        """Code that does the same, with the function that is the callback as its last; None where it has none."""
        ...


def source_of(callback: Any) -> str | None:
    """Return a callback's source as it can be typed, or None where Python cannot find it.

    A function comes without decorators and indentation, one of memwb's own without annotations, and a
    ``functools.partial`` as the function with other defaults.
    """
    if isinstance(callback, HasSource):
        return callback.source
    if isinstance(callback, partial):
        return None if callback.args else _with_defaults(callback)
    try:
        source = textwrap.dedent(inspect.getsource(callback))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return None
    first = tree.body[0] if tree.body else None
    if not isinstance(first, ast.FunctionDef) or first.name != getattr(inspect.unwrap(callback), "__name__", ""):
        return None  # a lambda, whose source is the statement around it
    source = "\n".join(_lines(source)[first.lineno - 1 :]).rstrip() + "\n"
    return _signed(source, {}) if (getattr(callback, "__module__", None) or "").startswith("memwb.") else source


def begin_with(source: str, statements: Sequence[str], definitions: Sequence[str], name: str = "") -> str | None:
    """Return a source with statements put first in its function, behind the docstring, and definitions above.

    Args:
        source: Code with a function.
        statements: Lines of code, which may name the function's first argument as ``{0}``.
        definitions: Sources of functions; one whose name the source defines already is not repeated.
        name: The function's; by default the last one of the source.

    Returns:
        None where the source cannot take them: the function's body begins on the line of its ``def``, or it takes no
        argument.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    function = functions.get(name or next(reversed(functions), ""))
    if function is None or not function.args.args:
        return None
    lines = _lines(source)
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body or lines[body[0].lineno - 1][: body[0].col_offset].strip():
        return None
    first = min([body[0].lineno, *(one.lineno for one in getattr(body[0], "decorator_list", ()))]) - 1
    margin = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    lines[first:first] = [margin + one.format(function.args.args[0].arg) for one in statements]
    above = [text for text in definitions if _function(text).name not in functions]
    future = [
        one.end_lineno or 0 for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"
    ]
    at = max(future, default=0)
    parts = ["\n".join(lines[:at]), *dict.fromkeys(above), "\n".join(lines[at:])]
    return "\n\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _lines(source: str) -> list[str]:
    """Split a source as Python counts its lines."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _function(source: str) -> ast.FunctionDef:
    return next(one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef))


def _with_defaults(callback: partial[Any]) -> str | None:
    """Return the source of a function whose defaults are those that a partial gives."""
    source = source_of(callback.func) if isinstance(callback.func, FunctionType) else None
    if source is None:
        return None
    try:
        values = {name: ast.parse(repr(value), mode="eval").body for name, value in callback.keywords.items()}
        if any(ast.literal_eval(node) != callback.keywords[name] for name, node in values.items()):
            return None
    except (SyntaxError, ValueError):  # no value that can be written
        return None
    return _signed(source, values)


def _signed(source: str, values: dict[str, ast.expr]) -> str | None:
    """Write a function's signature anew: on one line, without annotations, with these defaults of its arguments."""
    function = _function(source)
    arguments = function.args
    if arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
        return None if values else source
    for one in arguments.args:
        one.annotation = None
    names = [one.arg for one in arguments.args]
    defaults = dict(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True))
    if not values.keys() <= defaults.keys():
        return None
    arguments.defaults = [values.get(name, value) for name, value in defaults.items()]
    body = _lines(source)[function.body[0].lineno - 1 :]
    return "\n".join([f"def {function.name}({ast.unparse(arguments)}):", *body])
