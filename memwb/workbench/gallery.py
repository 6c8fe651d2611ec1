"""The ready callbacks by name: what can be chosen beside an editor, and what a choice does to its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import callbacks
from ..callbacks.combined import remembering, with_filter
from ..callbacks.complete import IncompleteError, check
from ..errors import ConfigError, nearest

if TYPE_CHECKING:
    from .settings import SettingsState

DEFAULT = "the default"

_READY: dict[str, tuple[Any, ...]] = {
    "query": (
        callbacks.latest_user_message,
        callbacks.last_two_messages,
        callbacks.question_with_answer,
        callbacks.latest_without_stop_words,
        callbacks.whole_history,
    ),
    "format": (
        callbacks.block_with_dates_and_ids,
        callbacks.bullet_list,
        callbacks.grouped_by_store,
        callbacks.token_budgeted,
    ),
    "trigger": (),
}
FILTERS: dict[str, tuple[Any, ...]] = {
    "format": (callbacks.score_floor, callbacks.no_duplicates, callbacks.not_said),
}


def _named(function: Any) -> str:
    return str(function.__name__).replace("_", " ")


CHOICES: dict[str, dict[str, Any]] = {
    name: {
        DEFAULT: None,
        **{_named(one): one for one in ready},
        **{f"filter: {_named(one)}": one for one in FILTERS.get(name, ())},
    }
    for name, ready in _READY.items()
}
"""For each callback: the names that can be chosen, each with its function, None for the default."""


def choose(state: SettingsState, name: str, choice: str) -> None:
    """Put a ready callback in force, or a filter into the format's text; see ``WorkbenchState.choose``."""
    _refuse_unknown("callback", name, tuple(CHOICES))
    _refuse_unknown(name, choice, tuple(CHOICES[name]))
    function = CHOICES[name][choice]
    if function not in FILTERS.get(name, ()):
        state.put(**{name: function})
        return
    texts = {name: with_filter(state.slots[name].source, function, _callback(state, name))}
    if function is callbacks.not_said:
        texts["query"] = remembering(state.slots["query"].source, _callback(state, "query"))
    for changed, text in texts.items():
        if text is None:
            raise ConfigError(
                f"Workbench: the filter cannot be put into the {changed} callback as it is written. Write it with a "
                f"'def' of several lines, or choose a ready {changed} first.",
                key=changed,
                value=choice,
            )
    for changed, text in texts.items():
        state.slots[changed].write(text or "")
    state.changed()


def _callback(state: SettingsState, name: str) -> str:
    """Return the name of the function in an editor's text that is the callback; "" while the text is not complete."""
    try:
        return check(name, state.slots[name].source, state.slots[name].known)
    except IncompleteError:
        return ""


def _refuse_unknown(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(
            f"Workbench: choose: no {what} {value!r}; there are {', '.join(known)}.{nearest(str(value), known)}",
            key=what,
            value=value,
            allowed=known,
        )
