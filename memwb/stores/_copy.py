"""Memories moved between stores of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..transfer import Collision, Transfer


async def copy(
    store: Any, other_store: Any, *, collision: Collision = "skip", dry_run: bool = False, progress: bool = True
) -> Transfer:
    """Copy the memories of a store into another one. What that holds already is not written again.

    ::

        await copy(TestMemoryStore(name="notes"), PostgresMemoryStore(dsn), dry_run=True)  # Transfer(812 new; ...)

    It is :func:`memwb.transfer.transfer` between two stores; that also reads and writes files and DataFrames.

    Args:
        store: Where they come from.
        other_store: Where they go to. Ids, times, owners and roles are kept as far as it keeps such.
        collision: What becomes of a memory whose id another one there has: ``"skip"``, ``"replace"``, ``"new id"`` or
            ``"fail"``.
        dry_run: Only tell what would be done.
        progress: Show a progress bar where it takes a while and tqdm is installed.

    Returns:
        What was new, a duplicate, replaced, or refused and why.

    Raises:
        ConfigError: One of them is no store that can be read or written, or is none at all.
        DuplicateEntryError: An id is taken, and ``collision`` is ``"fail"``. Nothing was written.
    """
    from ..transfer import transfer

    return await transfer(store, other_store, collision=collision, dry_run=dry_run, progress=progress)
