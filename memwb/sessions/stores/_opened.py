"""A store of sessions as an async context manager."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Opened:
    """``async with store``: prepared at the beginning, closed at the end."""

    async def initialize(self) -> None:
        """Prepare the store."""
        raise NotImplementedError

    async def close(self) -> None:
        """Let go of what the store holds open."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.initialize()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
