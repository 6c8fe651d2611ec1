"""Which models an extraction asks, and about which messages: per store, as its settings and those of the screen say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..memory import MemoryMessageFilter
from ..memory.extraction.filter import Numbered, filtered
from ..memory.extraction.resolve import resolve_extraction
from ..memory.types import has_method
from . import demo
from .replaying import config_of, extracting, model_of

if TYPE_CHECKING:
    from ..memory import Message
    from .replaying import ExtractionSettings


@dataclass(frozen=True)
class Question:
    """What one model is asked about.

    Attributes:
        stores: The names of the stores that it is asked for.
        model: Asked.
        messages: The transcript, as the stores' filter leaves it.
    """

    stores: tuple[str, ...]
    model: Any
    messages: tuple[Message, ...]


def name_of(model: Any) -> str:
    """Return what a model is called on the page."""
    return demo.NAME if isinstance(model, demo.DemoModel) else repr(model)


def models_asked(stores: Sequence[Any], settings: ExtractionSettings, default: Any) -> list[Any]:
    """Return what a run asks for facts, each once: models, and extractors that do not tell theirs.

    Args:
        stores: The workbench's.
        settings: Those of the screen.
        default: The model of extractors without one of their own.
    """
    asked: list[Any] = []
    for store in extracting(stores, settings):
        extractor = config_of(store, resolve_extraction(store), settings).get("extractor")
        takes_messages = has_method(store, "add_messages")
        if extractor is None and takes_messages and (settings.write_to == "stores" or not has_method(store, "add")):
            continue  # it, or its copy, takes the messages themselves
        one = extractor if extractor is not None and not hasattr(extractor, "model") else model_of(extractor) or default
        if not any(one is each for each in asked):
            asked.append(one)
    return asked


def questions(
    stores: Sequence[Any], settings: ExtractionSettings, messages: Sequence[Message], default: Any
) -> list[Question]:
    """Return what a run with another prompt would ask; stores with the same model and filter ask once.

    Args:
        stores: The workbench's; where none can extract, the default model is asked, behind the default filter.
        settings: Those of the screen; the prompt among them does not matter.
        messages: The whole conversation.
        default: The model of extractors without one of their own.
    """
    numbered = [Numbered(at, message) for at, message in enumerate(messages)]
    settings = replace(settings, system_prompt=None)
    found: list[Question] = []
    for store in extracting(stores, settings) or [None]:
        own = None if store is None else resolve_extraction(store)
        config = config_of(store, own, settings)
        kept, _ = filtered(numbered, config.get("filter", MemoryMessageFilter()).exclude)
        names = () if store is None else (store.name,)
        question = Question(names, model_of(config.get("extractor")) or default, tuple(item.message for item in kept))
        for at, each in enumerate(found):
            if each.model is question.model and each.messages == question.messages:
                found[at] = replace(each, stores=each.stores + names)
                break
        else:
            found.append(question)
    return found
