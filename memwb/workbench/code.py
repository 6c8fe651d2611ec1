"""Callbacks as typed text: checked while they are typed, run only when they are complete."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from ..callbacks.complete import NOT_ASYNC, IncompleteError, Problem, check
from ..errors import ConfigError
from ..memory.settings import sync_callable
from .limit import limited
from .told import told

TEMPLATES = {
    "query": '''\
def query(context):
    """Text to search for; None skips the injection."""
    last = context.messages[-1]
    asked = last["role"] == "user" and not any("toolResult" in block for block in last["content"])
    for message in reversed(context.messages):
        if message["role"] == ("user" if asked else "assistant"):
            return "\\n".join(block["text"] for block in message["content"] if "text" in block).strip()
''',
    "format": '''\
from xml.sax.saxutils import escape


def format(context):
    """Text that the model gets."""
    lines = ["<memory>"]
    for entry in context.entries:
        name = escape(entry.store_name, {'"': "&quot;", "'": "&#39;"})
        lines.append(f'<entry source="{name}">{escape(entry.content)}</entry>')
    return "\\n".join([*lines, "</memory>"])
''',
    "trigger": '''\
def trigger(context):
    """True to inject at this model call."""
    if not context.messages:
        return False
    last = context.messages[-1]
    return last["role"] == "user" and not any("toolResult" in block for block in last["content"])
''',
}
"""What the editor opens with while a callback is the default: code that does what the default does."""


_builds = itertools.count(1)


def file_name(name: str) -> str:
    """Return a new name under which tracebacks show one source of the callback ``name``."""
    return f"<memwb:{name} {next(_builds)}>"


async def build(name: str, source: str, namespace: dict[str, Any], seconds: float) -> Callable[[Any], Any]:
    """Run a complete source in ``namespace``, under the time limit, and return its function.

    Raises:
        IncompleteError: The source is not complete, or running it raised.
    """
    chosen = check(name, source, frozenset(namespace))
    filename = file_name(name)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    code = compile(source, filename, "exec")
    namespace = {"__name__": filename, **namespace}
    try:
        await limited(exec, code, namespace, seconds=seconds)
    except Exception as error:
        problem = problem_of(error, filename)
        linecache.cache.pop(filename, None)
        raise IncompleteError(problem) from error
    function = namespace.get(chosen)
    if not callable(function):
        raise IncompleteError(Problem(f"{chosen!r} is no function but {type(function).__name__}"))
    try:
        sync_callable(function, "", name)
    except ConfigError:  # async by another name, or wrapped: what the text alone does not show
        raise IncompleteError(Problem(NOT_ASYNC)) from None
    with contextlib.suppress(TypeError):  # a builtin cannot be watched; its source is not kept here either
        weakref.finalize(function, linecache.cache.pop, filename, None)
    return function  # type: ignore[no-any-return]


def problem_of(error: BaseException, filename: str) -> Problem:
    """Return what an exception says, at the line of ``filename`` where it came from."""
    message = told(error)
    # An exit or a StopIteration comes as the cause of another error, which has no line of its own in the source.
    raised = (error, error.__cause__) if error.__cause__ else (error,)
    tracebacks = [traceback.extract_tb(each.__traceback__) for each in raised]
    frames = [frame for found in tracebacks for frame in found if frame.filename == filename]
    if not frames:
        return Problem(message)
    return Problem(message, frames[-1].lineno, (frames[-1].line or "").strip())
