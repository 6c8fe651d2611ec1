"""What a panel refuses to do when it is closed: nobody sees what it does any more, and it may write to stores."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar, cast

from ..errors import StaleTraceError

_Action = TypeVar("_Action", bound=Callable[..., Coroutine[Any, Any, Any]])


def while_open(action: _Action) -> _Action:
    """Have an action of a panel's state raise StaleTraceError, and do nothing, when that was closed."""

    @wraps(action)
    async def checked(self: Any, *args: Any, **named: Any) -> Any:
        if self._refresher.closed:
            raise StaleTraceError(
                f"This panel is closed, so that {action.__name__}() did nothing: make a new one to go on."
            )
        return await action(self, *args, **named)

    return cast("_Action", checked)
