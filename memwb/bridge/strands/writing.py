"""Why a memory manager of the SDK has not written an entry: what its extraction still holds, and what is off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...memory import Message
from ...memory.messages import text
from ...memory.unwritten import FLUSH, TURN_ON, Says, Unwritten


class SdkWriter:
    """What a memory manager of the SDK tells of its writing, read at each question and never changed.

    Args:
        manager: The SDK's MemoryManager.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def why_unwritten(self, content: str, messages: Sequence[Message]) -> Unwritten | None:
        """Return why the stores lack an entry, None where it cannot be told; see :mod:`memwb.memory.unwritten`."""
        says = Says(content)
        bindings: Sequence[Any] = getattr(self._manager, "_extraction_stores", ())
        at = next((at for at, message in enumerate(messages) if says(text(message))), None)
        begins = "a message says it" if at is None else f"message {at + 1} says it"
        found = next(self._waiting(says, bindings, begins), None)
        if found is not None:
            return found
        if bindings:
            return None
        if getattr(self._manager, "_add_tool_config", None) is False:
            before = "" if at is None else f"{begins}, but "
            return Unwritten(f"{before}nothing writes here: the add tool is off and no store extracts", TURN_ON)
        return None

    def _waiting(self, says: Says, bindings: Sequence[Any], begins: str) -> Iterator[Unwritten]:
        coordinator = getattr(self._manager, "_coordinator", None)
        marks, failures = getattr(coordinator, "_marks", {}), getattr(coordinator, "_consecutive_failures", {})
        for held in getattr(coordinator, "_pending", ()):
            if not says(text(held.message)):
                continue
            for binding in bindings:
                store = binding.store
                if held.seq <= marks.get(id(store), -1):
                    continue
                if failed := failures.get(id(store), 0):
                    times = "once" if failed == 1 else f"{failed} times in a row"
                    yield Unwritten(f"{begins}, and saving it to {store.name!r} failed {times}", FLUSH)
                yield Unwritten(f"{begins}, and is not saved to {store.name!r} yet: {_when(binding)}", FLUSH)


def _when(binding: Any) -> str:
    turns = [getattr(trigger, "_turns", None) for trigger in binding.config.triggers]
    every = [number for number in turns if isinstance(number, int)]
    return f"extraction comes every {min(every)} invocations" if every else "not flushed"
