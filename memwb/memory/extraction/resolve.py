"""Reads a store's ``extraction`` setting once and checks that the store can do what it asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from ...errors import ConfigError, nearest
from ..settings import refuse_unknown, sync_callable
from ..types import has_method
from .triggers import IntervalTrigger
from .types import ExtractionTrigger, Extractor, MemoryContentBlockType, MemoryMessageFilter

DEFAULT_TURNS = 5
"""Invocations between two extractions where the config names no trigger (Strands' default)."""

_KEYS = ("trigger", "extractor", "filter")


@dataclass
class Extraction:
    """A checked extraction config with every default filled in. A save looks at it when it begins.

    Attributes:
        triggers: At least one.
        extractor: Turns messages into facts; None where the store takes the messages themselves.
        filter: Which content blocks are dropped.
    """

    triggers: tuple[ExtractionTrigger, ...]
    extractor: Extractor | None = None
    filter: MemoryMessageFilter = field(default_factory=MemoryMessageFilter)


def resolve_extraction(store: Any) -> Extraction | None:
    """Return the store's extraction settings, or None where extraction is off.

    Raises:
        ConfigError: The store is read-only, has no trigger, or lacks the method that the settings need.
    """
    setting = getattr(store, "extraction", None)
    if setting is None or setting is False:
        return None
    where = f"MemoryManager: store {store.name!r}"
    if setting is not True and not isinstance(setting, Mapping):
        raise ConfigError(f"{where} has extraction {setting!r}; it takes True, False or a dict.", key="extraction")
    config: Mapping[str, Any] = {} if setting is True else setting
    refuse_unknown(config, _KEYS, f"{where} extraction")
    trigger = config.get("trigger")
    triggers = (IntervalTrigger(DEFAULT_TURNS),) if trigger is None else _listed(trigger)
    given = config.get("filter")
    extraction = Extraction(triggers, config.get("extractor"), MemoryMessageFilter() if given is None else given)
    _check(store, extraction, where)
    if extraction.extractor is None and not has_method(store, "add_messages"):
        from .model_extractor import ModelExtractor

        extraction.extractor = ModelExtractor()
    return extraction


def _listed(trigger: Any) -> tuple[Any, ...]:
    return tuple(trigger) if isinstance(trigger, list | tuple) else (trigger,)


def _check(store: Any, extraction: Extraction, where: str) -> None:
    if not getattr(store, "writable", False):
        raise ConfigError(f"{where} has extraction but is not writable. Set writable=True or extraction=False.")
    if not extraction.triggers:
        raise ConfigError(f"{where} has extraction with an empty list of triggers: it would never run.")
    for trigger in extraction.triggers:
        _check_method(trigger, "attach", f"{where} has the extraction trigger", "trigger")
        sync_callable(trigger.attach, f"{where} has a {type(trigger).__name__} whose attach", "trigger")
    if extraction.extractor is not None:
        _check_method(extraction.extractor, "extract", f"{where} has the extractor", "extractor")
    _check_filter(extraction.filter, where)
    if extraction.extractor is not None and not has_method(store, "add"):
        raise ConfigError(f"{where} has an extractor but no add method to write the extracted entries with.")
    needs_sink = extraction.extractor is None and not has_method(store, "add")
    if needs_sink and not has_method(store, "add_messages"):
        raise ConfigError(f"{where} has extraction without an extractor, and no add_messages method to take messages.")


def _check_method(value: Any, method: str, what: str, key: str) -> None:
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        hint = f"; write {value.__name__}(...)" if isinstance(value, type) else ""
        raise ConfigError(f"{what} {value!r}, which has no {method} to call{hint}.", key=key, value=value)


def _check_filter(given: Any, where: str) -> None:
    exclude = getattr(given, "exclude", None)
    kinds = get_args(MemoryContentBlockType)
    if isinstance(exclude, str) or not isinstance(exclude, Collection):
        raise ConfigError(
            f"{where} has the extraction filter {given!r}; write MemoryMessageFilter(exclude=[...]) with kinds of "
            f"content blocks: {', '.join(kinds)}.",
            key="filter",
            value=given,
            allowed=kinds,
        )
    for kind in exclude:
        if kind not in kinds:
            raise ConfigError(
                f"{where} has an extraction filter that excludes {kind!r}; the kinds of content blocks are "
                f"{', '.join(kinds)}.{nearest(kind, kinds)}",
                key="exclude",
                value=kind,
                allowed=kinds,
            )
