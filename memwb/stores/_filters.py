"""Narrowing a search down to an owner and to metadata, alike in all stores that can."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._json import NotJsonError, check_metadata, dumps
from ..errors import ConfigError
from ..memory.settings import at_least_one, checked_options

KEYS = ("max_search_results", "owner", "metadata")


class Narrowed(NamedTuple):
    """The options of a search.

    Attributes:
        limit: The most entries to return, None where the call does not say.
        owner: Whose entries are searched, None for everybody's.
        metadata: What their metadata must hold.
    """

    limit: int | None = None
    owner: str | None = None
    metadata: Mapping[str, Any] = {}

    @property
    def all(self) -> bool:
        """Whether every entry is searched."""
        return self.owner is None and not self.metadata

    def takes(self, owner: str | None, metadata: Mapping[str, Any] | None) -> bool:
        """Whether an entry of this owner with this metadata is one of those that are searched."""
        return self.owner in (None, owner) and holds(metadata, self.metadata)


def narrowed(options: Any, where: str) -> Narrowed:
    """Read the options of a search.

    Raises:
        ConfigError: One is unknown, or has a wrong value.
    """
    given = checked_options(options, KEYS, f"{where}: search")
    limit, owner, metadata = (given.get(key) for key in KEYS)
    if limit is not None:
        at_least_one(limit, f"{where}: max_search_results", "max_search_results")
    if owner is not None and not (isinstance(owner, str) and owner):
        told = f"{where}: owner is {owner!r:.80}; it must be a text that is not empty, or None for everybody's entries."
        raise ConfigError(told, key="owner", value=owner)
    try:
        return Narrowed(limit, owner, {} if metadata is None else check_metadata(metadata))
    except NotJsonError as error:
        raise ConfigError(f"{where}: {error.place} {error.cause}.", key="metadata", value=metadata) from None


def holds(metadata: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    """Whether metadata have these keys with exactly these JSON values: 1, 1.0 and True are three."""
    for key, value in wanted.items():
        if metadata is None or key not in metadata or metadata[key] != value:
            return False
        if dumps([{"value": metadata[key]}]) != dumps([{"value": value}]):
            return False
    return True
