"""Callbacks written out: the source of a function in a form that stands alone, or a sentence why it cannot."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import symtable
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from ..errors import ConfigError
from ..memory.settings import CALLBACKS
from .complete import check, unknown_names
from .inline import is_memwbs, without_memwb
from .source import source_of

FUTURE = "from __future__ import annotations"
"""What stands at the top of a written module: the names in annotations are then not looked up."""

_EDITORS = "<memwb:"  # what the names of files begin with that are texts of an editor


@dataclass(frozen=True)
class Written:
    """A callback's source, to be put into a module.

    Attributes:
        slot: ``query``, ``format`` or ``trigger``.
        function: The name that the module gives it.
        parts: Pieces of source, in order; those that several callbacks share are written once.
    """

    slot: str
    function: str
    parts: tuple[str, ...]

    @property
    def defined(self) -> dict[str, str]:
        """The names that the pieces define for the whole module, each with its piece."""
        return {name: part for part in self.parts for name in _defined(part)}

    @property
    def builtins_used(self) -> set[str]:
        """The names of Python's own that the pieces use."""
        return {name for part in self.parts for name in _global_names(part) if hasattr(builtins, name)}


def written(slot: str, function: Callable[..., Any]) -> Written:
    """Return a callback's source in a form that needs nothing but Python.

    A function of a cell comes without the workbench's decorator, a lambda as a function, an editor's text as a whole,
    one of memwb's own callbacks with what it uses.

    Raises:
        ConfigError: Its source is not to be had, or it uses other names of the notebook, which are named.
    """
    if not isinstance(function, FunctionType):
        return _of_another_kind(slot, function)
    if is_memwbs(function):
        return _alone(slot, source_of(function) or "")
    if function.__code__.co_filename.startswith(_EDITORS):
        text = "".join(linecache.getlines(function.__code__.co_filename))
        shadowed: set[str] = set()  # the editor's own print is no name of the notebook
    else:
        text = _source(slot, function)
        shadowed = {
            name
            for name in _global_names(text)
            if name in function.__globals__ and function.__globals__[name] is not getattr(builtins, name, None)
        }
    text = _without_future(text)
    foreign = dict.fromkeys(function.__code__.co_freevars)
    foreign.update(dict.fromkeys(name for name, _ in unknown_names(*_parsed(text))))
    foreign.update(dict.fromkeys(sorted(name for name in shadowed if hasattr(builtins, name))))
    if foreign:
        names = ", ".join(map(repr, foreign))
        raise _refused(
            slot,
            f"{function.__name__!r} uses {names} of the notebook, which a module does not have. Import or define "
            f"{'it' if len(foreign) == 1 else 'them'} inside the function",
            tuple(foreign),
        )
    return _alone(slot, text)


def _of_another_kind(slot: str, callback: Any) -> Written:
    """Write what is no function: a combination of callbacks, or one with other defaults."""
    kind = type(callback).__name__
    text = None if isinstance(callback, MethodType | type) else source_of(callback)  # its source wants an object, too
    if text is None:
        raise _refused(slot, f"is a {kind}, whose source cannot be written out. Write a plain function around it", kind)
    foreign = tuple(dict.fromkeys(name for name, _ in unknown_names(*_parsed(text))))
    if foreign:
        names = ", ".join(map(repr, foreign))
        raise _refused(
            slot,
            f"is a {kind} of functions that use {names} of the notebook, which a module does not have. "
            "Import or define it inside the function",
            foreign,
        )
    return _alone(slot, text)


def _alone(slot: str, text: str) -> Written:
    """Write a text with what it imports of memwb, which is written out above it."""
    try:
        parts, text = without_memwb(text)
    except ConfigError as error:
        raise _refused(slot, str(error), error.value) from None
    return Written(
        slot,
        check(slot, f"{FUTURE}\n{text}", frozenset(name for part in parts for name in _defined(part))),
        (*parts, text.strip() + "\n"),
    )


def _refused(slot: str, why: str, value: Any) -> ConfigError:
    return ConfigError(f"The {slot} callback {why}. Nothing was written.", key=slot, value=value)


def _parsed(text: str) -> tuple[str, ast.Module]:
    text = f"{FUTURE}\n{text}"
    return text, ast.parse(text)


def _source(slot: str, function: FunctionType) -> str:
    """Return the ``def`` of a function without the workbench's decorators."""
    if function.__name__ == "<lambda>":
        return _lambda_source(slot, function)
    try:
        source = textwrap.dedent(inspect.getsource(function))
        statement = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError):
        raise _unreadable(slot, function) from None
    if not isinstance(statement, ast.FunctionDef) or statement.name != function.__name__:
        raise _unreadable(slot, function)
    others = [one for one in statement.decorator_list if not (isinstance(one, ast.Attribute) and one.attr in CALLBACKS)]
    if others:
        shown = ", ".join(f"@{ast.unparse(one)}" for one in others)
        raise _refused(slot, f"{function.__name__!r} is decorated with {shown}. Do its work inside the function", shown)
    return "\n".join(source.splitlines()[statement.lineno - 1 :]) + "\n"


def _unreadable(slot: str, function: FunctionType) -> ConfigError:
    why = f"{function.__name__!r} has no source that can be read. Define it with 'def' in a cell, or in the editor"
    return _refused(slot, why, function)


def _lambda_source(slot: str, function: FunctionType) -> str:
    """Return a lambda as a function of the slot's name."""
    try:
        lines, _ = inspect.findsource(function)
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile("".join(lines), "<cell>", "exec", flags)
    except (OSError, TypeError, SyntaxError):
        raise _unreadable(slot, function) from None
    assert isinstance(tree, ast.Module)
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    found = [node for node in lambdas if _holds(node.body, function)]
    here = [node for node in lambdas if node.lineno == function.__code__.co_firstlineno]
    if not found and len(here) != 1:
        raise _unreadable(slot, function)
    chosen = min(found or here, key=lambda node: len(ast.unparse(node)))  # one inside another is the shorter one
    return f"def {slot}({ast.unparse(chosen.args)}):\n    return {ast.unparse(chosen.body)}\n"


def _holds(body: ast.expr, function: FunctionType) -> bool:
    """Whether the code of a lambda stands within an expression, and begins and ends where that does."""
    code = function.__code__.co_positions()
    places = [(line, end, column, last) for line, end, column, last in code if line and end and last]
    starts = [(line, column or 0) for line, _, column, _ in places]
    ends = [(end, last) for _, end, _, last in places]
    return (
        bool(places)
        and min(starts) == (body.lineno, body.col_offset)
        and max(ends)
        == (
            body.end_lineno,
            body.end_col_offset,
        )
    )


def _without_future(text: str) -> str:
    """Leave out imports from ``__future__``: they are allowed at the top of a module only."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for at in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[at] = ""
    return "".join(lines)


def _top(text: str) -> symtable.SymbolTable:
    return symtable.symtable(f"{FUTURE}\n{text}", "callback", "exec")


def _defined(text: str) -> Iterator[str]:
    for symbol in _top(text).get_symbols():
        if (
            symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
        ) and symbol.get_name() != "annotations":
            yield symbol.get_name()


def _global_names(text: str) -> set[str]:
    """Return the names that a source looks up outside of its functions, and does not define itself."""
    names: set[str] = set()
    tables = [_top(text)]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        at_top = table.get_type() == "module"
        names |= {one.get_name() for one in table.get_symbols() if one.is_referenced() and (one.is_global() or at_top)}
    return names - set(_defined(text))
