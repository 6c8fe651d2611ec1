"""What a format puts beside markup without escaping it, by its text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_ENTRY = {"content", "store_name", "metadata"}
_TEXTS = {"join", "format", "append", "extend", "write", "insert"}
_ESCAPES = {"replace", "translate"}


def unescaped(tree: ast.Module) -> list[int]:
    """Return the lines on which a part of an entry is put into a text with markup, and nothing escapes it.

    A part counts where it is a piece of a text: in an f-string, on either side of ``+`` or ``%``, or given to ``join``,
    ``append`` and the like; and where the code writes markup at all. Inside any other call it counts as escaped. A
    variable that holds a part counts as one.
    """
    if not _writes_markup(tree):
        return []
    held = _variables(tree)
    quiet = {id(node) for one in held.values() for assigned in one for node in ast.walk(assigned)}
    found: set[int] = set()
    for node in ast.walk(tree):
        if id(node) not in quiet:
            found.update(part.lineno for piece in _pieces(node) for part in _raw(piece, held))
    return sorted(found)


def _writes_markup(tree: ast.AST) -> bool:
    documents = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return any("<" in text for text in texts if text not in documents)


def _variables(tree: ast.Module) -> dict[str, list[ast.Assign]]:
    """Return the variables that hold a part of an entry and no markup, with where they get it."""
    held: dict[str, list[ast.Assign]] = {}
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Assign)):
        if any(True for _ in _raw(node.value, {})) and not _writes_markup(node.value):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    held.setdefault(target.id, []).append(node)
    return held


def _pieces(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that become pieces of a text here."""
    if isinstance(node, ast.FormattedValue):
        return [node.value]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return [node.value]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TEXTS:
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    return []


def _raw(node: ast.expr, held: dict[str, list[ast.Assign]]) -> Iterator[ast.expr]:
    """Yield the parts of an entry that an expression passes on as they are."""
    inner: list[ast.expr] = []
    if isinstance(node, ast.Attribute):
        if node.attr in _ENTRY:
            yield node
    elif isinstance(node, ast.Name):
        if node.id in held:
            yield node
    elif isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr not in _ESCAPES:
            inner = [*node.args] if function.attr == "join" else [function.value]  # such as entry.content.strip()
    elif isinstance(node, ast.IfExp):
        inner = [node.body, node.orelse]
    elif isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        inner = [node.elt]
    elif isinstance(node, ast.Subscript | ast.Starred):
        inner = [node.value]
    elif isinstance(node, ast.List | ast.Tuple):
        inner = node.elts
    elif isinstance(node, ast.BoolOp):
        inner = node.values
    for one in inner:
        yield from _raw(one, held)
