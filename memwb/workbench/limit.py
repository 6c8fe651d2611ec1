"""Runs a user's callback in a thread of its own, under a time limit.

A callback that is typed live may loop for ever, and in the kernel's own thread nothing could stop it: Jupyter runs
widget messages where an interrupt does not reach. So a callback gets a thread, and a thread that overstays is ended by
an exception raised inside it. Python code ends at once; C code (a long sleep, a runaway regular expression) only when
it returns, which the error then says.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

_Result = TypeVar("_Result")

_UNSET: Any = object()

TIME_LIMIT = 2.0
"""Seconds that a callback may take before it is stopped, where the workbench is not told otherwise."""


class CallbackTimeoutError(TimeoutError):
    """A callback took longer than its limit.

    Attributes:
        seconds: The limit.
        still_running: Whether it could not be stopped yet, since it is inside C code.
    """

    def __init__(self, seconds: float, still_running: bool) -> None:
        self.seconds, self.still_running = seconds, still_running
        state = "it still runs, inside a call that Python cannot stop" if still_running else "it was stopped"
        super().__init__(f"longer than {seconds:g} s; {state}")


async def limited(function: Callable[..., _Result], *args: Any, seconds: float = TIME_LIMIT) -> _Result:
    """Return ``function(*args)``, called in a daemon thread, in the context (of contextvars) of the caller.

    Raises:
        CallbackTimeoutError: It took longer than ``seconds``.
        Exception: What the function raised, as it is. What would end more than the function (an exit, an interrupt, a
            cancellation, a StopIteration) comes as the cause of a RuntimeError.
    """
    done: concurrent.futures.Future[_Outcome] = concurrent.futures.Future()
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(_run, done, function, args), daemon=True, name="memwb-callback")
    thread.start()
    try:
        outcome = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(done)), seconds)
    except asyncio.CancelledError:
        _stop(thread, done)
        raise
    except TimeoutError:
        if not done.done():
            _stop(thread, done)
            await _grace(thread)
            raise CallbackTimeoutError(seconds, thread.is_alive()) from None
        outcome = done.result()  # it came in time: the loop was busy elsewhere, and looks only now
    for variable, value in context.items():  # what it set is there for the next callback, as without a thread
        if variable.get(_UNSET) is not value:
            variable.set(value)
    if outcome.error is not None:
        raise outcome.error
    return outcome.result  # type: ignore[no-any-return]


class Budget:
    """Seconds that several calls may take together.

    Attributes:
        seconds: What they had at first.
        left: What is left of it.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left = seconds

    async def limited(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Return what :func:`limited` does, within what is left.

        Raises:
            CallbackTimeoutError: Nothing is left, and the function was not called; or it took longer.
            Exception: As for :func:`limited`.
        """
        if self.left <= 0:
            raise CallbackTimeoutError(self.seconds, still_running=False)
        started = time.monotonic()
        try:
            return await limited(function, *args, seconds=self.left)
        finally:
            self.left -= time.monotonic() - started


class _Here(threading.local):
    limited = False


_here = _Here()


def is_limited() -> bool:
    """Whether this code runs as a workbench's callback, in a thread of :func:`limited`."""
    return _here.limited


@dataclass(frozen=True)
class _Outcome:
    """What a call came to. An error travels as a value: futures read a meaning of their own into some of them."""

    result: Any = None
    error: Exception | None = None


def _run(done: concurrent.futures.Future[_Outcome], function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    _here.limited = True
    try:
        outcome = _Outcome(function(*args))
    except StopIteration as error:
        outcome = _Outcome(error=_contained(error))
    except Exception as error:
        outcome = _Outcome(error=error)
    except BaseException as error:  # must not end the kernel, and must not leave the caller waiting
        outcome = _Outcome(error=_contained(error))
    if done.set_running_or_notify_cancel():
        done.set_result(outcome)


def _contained(error: BaseException) -> RuntimeError:
    contained = RuntimeError(f"the callback raised {type(error).__name__}")
    contained.__cause__ = error
    return contained


def _stop(thread: threading.Thread, done: concurrent.futures.Future[Any]) -> None:
    done.cancel()  # nobody waits for the outcome any more
    if thread.is_alive() and thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


async def _grace(thread: threading.Thread) -> None:
    """Give a stopped thread a moment to end, so that the error can say whether it did."""
    for _ in range(20):
        if not thread.is_alive():
            return
        await asyncio.sleep(0.01)
