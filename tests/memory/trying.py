"""Makes the change that a suggestion names, as a person would who has nothing but its ``settings``."""

from __future__ import annotations

from typing import Any

from memwb import ranking
from memwb.memory import Explanation, InjectionTrace, MemoryManager, Suggestion

TOKENIZERS = {"any script": ranking.tokenize_any_script, "without stop words": ranking.tokenize_without_stop_words}


async def applied(
    suggestion: Suggestion, stores: Any, messages: Any, injection: Any, others: Any = ()
) -> InjectionTrace:
    change = dict(suggestion.settings)
    messages = change.pop("messages", messages)
    injection = change.pop("injection", injection)
    named = {store.name: store for store in (*stores, *others)}
    used = [named[name] for name in change.pop("stores", [store.name for store in stores])]
    if "tokenizer" in change:
        tokenizer = TOKENIZERS[change.pop("tokenizer")]
        used = [store.with_tokenizer(tokenizer) if hasattr(store, "with_tokenizer") else store for store in used]
    manager = MemoryManager(used, injection=injection)
    config: Any = {**(manager.injection or {}), **change}
    return await manager.trace_injection(messages, config)


def check_brought_in(found: Explanation, suggestion: Suggestion, trace: InjectionTrace, before: InjectionTrace) -> None:
    """The entry is in, at the place that was told, with the others that were told."""
    assert trace.injected
    entry = trace.entries[suggestion.rank - 1]
    assert (entry.content, entry.store_name) == (found.target, found.store)
    present = {(one.store_name, one.content) for one in before.entries} if before.injected else set()
    new = {(one.store_name, one.content) for one in trace.entries} - present - {(found.store, found.target)}
    assert suggestion.also == len(suggestion.brings) == len(new)
