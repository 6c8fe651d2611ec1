"""Where a callback's text takes a message for an object with attributes, or for a dict with a text in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_INSTEAD = {
    "text": "`memwb.text(message)`, which joins its text blocks (`import memwb` inside the function)",
    "content": "`message['content']`, the list of its blocks, or `memwb.text(message)` for its text",
    "role": "`message['role']`, which is 'user' or 'assistant'",
}


def misread_messages(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Yield what is read from a message that has no such thing: as it is written, what to write, and its line."""
    names = _message_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _INSTEAD and _is_message(node.value, names):
            yield ast.unparse(node), _INSTEAD[node.attr], node.lineno
        elif isinstance(node, ast.Subscript) and _key(node) == "text" and _is_message(node.value, names):
            yield ast.unparse(node), _INSTEAD["text"], node.lineno


def _message_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that stand for one message: those of loops over the messages, and of assignments of one."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension) and _is_messages(node.iter):
            target: ast.expr = node.target
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_message(node.value, frozenset()):
            target = node.targets[0]
        else:
            continue
        if isinstance(target, ast.Name):
            found.add(target.id)
    return frozenset(found)


def _is_messages(node: ast.expr) -> bool:
    """Whether this is a context's list of messages, a part of it, or that list turned around."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("reversed", "list"):
        return len(node.args) == 1 and _is_messages(node.args[0])
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _is_messages(node.value)
    return isinstance(node, ast.Attribute) and node.attr == "messages"


def _is_message(node: ast.expr, names: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice) and _is_messages(node.value)


def _key(node: ast.Subscript) -> object:
    return node.slice.value if isinstance(node.slice, ast.Constant) else None
