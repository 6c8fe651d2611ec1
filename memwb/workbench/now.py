"""Answers of async stores for properties, which cannot await."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..errors import ConfigError

_Result = TypeVar("_Result")

_PATIENCE = 30.0  # seconds; a store that needs the blocked loop itself would never answer


def now(work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Return what ``work()`` comes to, also where a loop runs already, as in a notebook.

    Work that never has to wait, such as reading a local file, is done in this thread. Other work is begun again on a
    loop of its own in another thread.

    Raises:
        ConfigError: It does not end; awaiting it would.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    begun = work()
    try:
        begun.send(None)
    except StopIteration as done:
        result: _Result = done.value
        return result
    begun.close()
    return _in_a_thread(work)


def _in_a_thread(work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    outcome: concurrent.futures.Future[_Result] = concurrent.futures.Future()

    def run() -> None:
        try:
            outcome.set_result(asyncio.run(work()))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True, name="memwb-now").start()
    try:
        return outcome.result(_PATIENCE)
    except concurrent.futures.TimeoutError:
        if outcome.done():
            raise  # the store's own
        raise ConfigError("This store does not answer without await: use `await memwb.frame(store)`.") from None
