"""Takes what was found out in a workbench to an agent: a module with the settings, and a test that holds the text."""

from __future__ import annotations

import ast
import keyword
import os
import pprint
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._options import options
from ..errors import BrokenStoreError, ConfigError
from ..evaluation.settings_file import MARK, settings_source
from ..memory.messages import fold, latest_index
from .checks import state_values
from .export_text import BESIDE, TEST

if TYPE_CHECKING:
    from ..memory import InjectionTrace
    from ..memory.types import Placement
    from .state import WorkbenchState

FORMS: dict[tuple[int, int], tuple[Placement, bool]] = {
    (1, 48): ("prepend", False),
    (1, 54): ("append", True),
    (1, 59): ("append", False),
}
"""Since which release the SDK puts the block where, and whether it sets it off from a tool's result too."""

_TAKEN = frozenset(sys.stdlib_module_names) | {"strands", "pytest", "memwb"}
_WIDTH = 118


class Export(NamedTuple):
    """The files that were written.

    Attributes:
        module: The module with the settings.
        test: The pytest file beside it.
    """

    module: Path
    test: Path

    def __repr__(self) -> str:
        return f"Export({self.module.name}, {self.test.name})"


def export(state: WorkbenchState, path: Any) -> Export:
    """Write the settings as they stand, and a test of the preview as it stands; see ``Workbench.export``.

    Raises:
        ConfigError: Something cannot be written out; it is named, and nothing is written.
        StaleTraceError: A change waits for its refresh.
    """
    module = _checked_path(path)
    test = module.with_name(f"test_{module.name}")
    trace = state.trace
    if not state.call:
        raise _refused(
            "messages", state.messages, "there is no model call to test: the conversation has no user message"
        )
    if not state.store_names:
        raise _refused("stores", [], "no store is chosen, and an agent's memory manager wants at least one")
    if state.tokenizer is not None:
        why = "the tokenizer is set in this workbench alone: build the stores with it, and take it back here"
        raise _refused("tokenizer", state.tokenizer, f"{why}, `await wb.set(tokenizer=None)`")
    _refuse_what_breaks_an_agent(trace)
    if options().redact:
        raise _refused(
            "redact",
            options().redact,
            "the test beside the module holds memory texts word for word, and memwb.options(redact=...) masks them in "
            "exports; switch it off for this, or keep a masked snapshot: await memwb.snapshot(wb, folder)",
        )
    source = settings_source(
        state.settings, module.stem, stores=state.store_names, beside=BESIDE.format(test=test.stem)
    )
    texts = {module: source, test: _test(state, trace, module.stem)}
    for file, text in texts.items():
        compile(text, str(file), "exec")
        _refuse_foreign(file)
    module.parent.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8", newline="\n")
    return Export(module, test)


def _refused(key: str, value: Any, why: str) -> ConfigError:
    return ConfigError(f"Workbench: export: {why}. Nothing was written.", key=key, value=value)


def _checked_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise _refused("path", path, f"path must be a text or a Path, not {path!r:.60}; write 'agent_memory.py'")
    file = Path(path).expanduser()
    if file.suffix != ".py" or not file.stem.isidentifier() or keyword.iskeyword(file.stem):
        raise _refused("path", path, f"{str(path)!r} is no name of a Python module; write 'agent_memory.py'")
    if file.stem == "__init__" or file.stem.startswith("test_"):
        why = f"{file.name!r} is no module to import settings from: pytest or Python takes it for something else"
        raise _refused("path", path, f"{why}; write 'agent_memory.py'")
    if file.stem in _TAKEN:
        raise _refused("path", path, f"a module {file.stem!r} would hide the one of that name; take another name")
    return file


def _refuse_foreign(file: Path) -> None:
    if file.is_dir():
        raise _refused("path", str(file), f"{str(file)!r} is a folder; take another name")
    if file.exists() and not file.read_bytes().startswith(MARK.encode()):
        raise _refused("path", str(file), f"{str(file)!r} exists and was not written by an export; take another name")


def _refuse_what_breaks_an_agent(trace: InjectionTrace) -> None:
    stage = trace.stage("format")
    said = str(stage.error)
    if isinstance(stage.error, TypeError) and "text is expected" in said and "returned None" not in said:
        raise _refused("format", None, f"{stage.error}; an agent of the SDK would break off its call there")
    for answer in trace.answers:
        if isinstance(answer.error, BrokenStoreError):
            raise _refused("stores", answer.store.name, f"{answer.error}")


# -- the test -------------------------------------------------------------------------------------------------------


def _test(state: WorkbenchState, trace: InjectionTrace, name: str) -> str:
    from ..bridge.strands import sent

    messages = list(state.seen)
    at, folded = _folded(trace, messages)
    values = {
        "messages": ("the conversation", messages),
        "state": ("the agent's state", state_values(state.agent_state)),
        "agent": ("the agent's name", getattr(state.source.agent, "name", None)),
        "answers": ("what the stores answered", _answers(state, trace)),
        "given": ("what the model gets", sent(messages)),
        "at": ("the place of the block", at),
        "folded": ("what the model gets", folded),
    }
    literals = {key: _literal(what, value) for key, (what, value) in values.items()}
    return TEST.format(mark=MARK, name=name, **literals)


def _folded(trace: InjectionTrace, messages: list[Any]) -> tuple[int | None, dict[tuple[int, int], Any]]:
    """Return the place of the message with the block, and the message by the first release that writes it so."""
    at = latest_index(messages, "user")
    if not trace.injected or trace.text is None or at is None:
        return None, {}
    forms = {}
    for since, (place, apart) in FORMS.items():
        message = (fold(messages, trace.text, place) or messages)[at]
        if apart and not trace.text.startswith("\n"):  # whatever stands before it
            message["content"][-1] = {"text": f"\n\n{trace.text}"}
        forms[since] = {"role": message["role"], "content": message["content"]}
    return at, forms


def _answers(state: WorkbenchState, trace: InjectionTrace) -> list[dict[str, Any]]:
    """Return what each store was asked and answered; metadata where a format could look at it."""
    answered = {answer.store.name: answer for answer in trace.answers}
    looks = trace.settings is not None and trace.settings.format is not None
    found: list[dict[str, Any]] = []
    for name in state.store_names:
        answer = answered.get(name)
        if answer is None or trace.settings is None:
            found.append({"store": name, "asked": [], "entries": []})
            continue
        entries = [(entry.content, entry.metadata if looks else None) for entry in answer.entries]
        asked = [(trace.query, trace.settings.max_entries)]
        found.append({"store": name, "asked": asked, "entries": None if answer.error is not None else entries})
    return found


def _literal(what: str, value: Any) -> str:
    """Write a value as Python source that reads back as the same value."""
    text = pprint.pformat(value, width=_WIDTH, sort_dicts=False)
    try:
        same = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, RecursionError):
        same = False
    if not same:
        raise _refused(what, value, f"{what} holds a value that cannot be written as Python source: {_odd(value)}")
    return text


def _odd(value: Any) -> str:
    """Name the first value inside that is no plain one."""
    if isinstance(value, dict | list | tuple):
        inner = value.values() if isinstance(value, dict) else value
        return next((odd for one in inner if (odd := _odd(one))), "")
    plain = value is None or (isinstance(value, bool | int | float | str | bytes) and value == value)
    return "" if plain and value not in (float("inf"), -float("inf")) else f"{type(value).__name__} {value!r:.60}"
