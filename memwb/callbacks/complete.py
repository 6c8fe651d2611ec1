"""Callbacks as source: whether a text is a complete function, and which names it lacks. Nothing is run."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

NOT_ASYNC = "callbacks are called without await: write 'def', not 'async def'"


@dataclass(frozen=True)
class Problem:
    """A mistake in a callback.

    Attributes:
        message: What is wrong.
        line: The line in the callback's source, from 1; None where it has no place.
        text: That line's text.
    """

    message: str
    line: int | None = None
    text: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        code = f" in `{self.text}`" if self.text else ""
        return f"{place}{self.message}{code}"


class IncompleteError(Exception):
    """A source cannot become a callback yet.

    Attributes:
        problem: What is missing or wrong, and where.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def check(name: str, source: str, known: frozenset[str] = frozenset()) -> str:
    """Return the name of the function that ``source`` gives the callback ``name``; nothing is run.

    Complete means: it parses, it defines a plain function, and every name that it uses is known. So a half-typed
    ``retur`` is a mistake with a place, and not a callback that is run and fails.

    Raises:
        IncompleteError: With the first mistake and its line.
    """
    try:
        tree = ast.parse(source)
        compile(tree, f"<memwb:{name}>", "exec")  # finds what the parser does not, such as a return outside a function
    except SyntaxError as error:
        line = error.lineno
        raise IncompleteError(Problem(f"SyntaxError: {error.msg}", line, _line(source, line))) from None
    except ValueError as error:  # a NUL character
        raise IncompleteError(Problem(f"SyntaxError: {error}")) from None
    chosen = _function(name, source, tree)
    for unknown, line in unknown_names(source, tree, known):
        raise IncompleteError(Problem(f"NameError: name {unknown!r} is not defined", line, _line(source, line)))
    return chosen


def _line(source: str, line: int | None) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip() if line and 0 < line <= len(lines) else ""


def _function(name: str, source: str, tree: ast.Module) -> str:
    """Choose the callback: what bears its name, else the last function of the source."""
    defined: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            defined[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            defined.update({target.id: statement for target in statement.targets if isinstance(target, ast.Name)})
    functions = [key for key, statement in defined.items() if not isinstance(statement, ast.Assign)]
    chosen = name if name in defined else functions[-1] if functions else None
    if chosen is None:
        raise IncompleteError(Problem(f"a function named {name!r} is needed: def {name}(context): ..."))
    statement = defined[chosen]
    if isinstance(statement, ast.AsyncFunctionDef):
        line = statement.lineno
        raise IncompleteError(Problem(NOT_ASYNC, line, _line(source, line)))
    return chosen


def unknown_names(source: str, tree: ast.Module, known: frozenset[str] = frozenset()) -> Iterator[tuple[str, int]]:
    """Yield each name with its line that the source uses, and that neither it, Python nor ``known`` defines."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree)):
        return
    top = symtable.symtable(source, "callback", "exec")
    given = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    given |= {symbol.get_name() for symbol in top.get_symbols() if symbol.is_namespace()}
    given |= _declared_global(top) | known | set(dir(builtins)) | {"__name__", "__doc__", "__file__"}
    loads = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    wanted = _globals_used(top) - given
    for node in sorted(loads, key=lambda node: (node.lineno, node.col_offset)):
        if node.id in wanted:
            yield node.id, node.lineno


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _globals_used(top: symtable.SymbolTable) -> set[str]:
    return {
        symbol.get_name()
        for scope in _scopes(top)
        for symbol in scope.get_symbols()
        if symbol.is_referenced() and (symbol.is_global() or scope is top)
    }


def _declared_global(top: symtable.SymbolTable) -> set[str]:
    return {
        symbol.get_name()
        for scope in _scopes(top)
        for symbol in scope.get_symbols()
        if symbol.is_declared_global() and symbol.is_assigned()
    }
