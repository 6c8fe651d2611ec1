"""Finds, reads and hands out the shipped data sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import orjson

from .._text import counted
from .._time import parse_stamp
from ..catalog import Record
from ..errors import ConfigError, nearest
from ._cases import Case

if TYPE_CHECKING:
    from ..stores import TestMemoryStore

_STORE_NAMES = {"ikat-demo": "profile", "memorybank-en": "diary"}
"""The data sets there are, each with the name of its stores: what the model reads in ``<entry source="...">``."""


@dataclass(frozen=True, repr=False)
class Dataset:
    """Memories of one or many owners, and conversations labelled with the memories that they need.

    Attributes:
        name: What :func:`load` takes.
        entries: The memories in the file's order, which is their order in time within an owner. Their ``owner`` also
            stands in their metadata.
        cases: The labelled cases in the file's order; each names its owner.
        owners: Whose memories there are, in order of first appearance.
        license: The licence's short name; :attr:`notice` has its text.
        attribution: Whom to credit, in one line.
        source: Where the data come from: address and commit.
    """

    name: str
    entries: tuple[Record, ...]
    cases: tuple[Case, ...]
    owners: tuple[str, ...]
    license: str
    attribution: str
    source: str

    @property
    def notice(self) -> str:
        """Where the data come from, what was changed, how to read the labels, whom to cite, and the licence."""
        return "\n".join(_file(self.name, name).read_text("utf-8") for name in ("ATTRIBUTION.md", "LICENSE"))

    def case(self, id: str) -> Case:
        """Return one case by its id.

        Raises:
            ConfigError: There is no such case; the message names the nearest one.
        """
        for case in self.cases:
            if case.id == id:
                return case
        known = tuple(case.id for case in self.cases)
        raise ConfigError(
            f"{self!r} has no case {id!r}.{nearest(str(id), known)} Its `cases` lists all of them.",
            key="case",
            value=id,
            allowed=known,
        )

    def of(self, owner: str) -> Dataset:
        """Return the part of the data set that belongs to one owner.

        Raises:
            ConfigError: There is no such owner; the message names the nearest one.
        """
        if owner not in self.owners:
            raise ConfigError(
                f"{self.name} has no owner {owner!r}.{nearest(str(owner), self.owners)} "
                f"The owners are {', '.join(map(repr, self.owners))}.",
                key="owner",
                value=owner,
                allowed=self.owners,
            )
        return replace(
            self,
            entries=tuple(entry for entry in self.entries if entry.owner == owner),
            cases=tuple(case for case in self.cases if case.owner == owner),
            owners=(owner,),
        )

    def store(self, owner: str | None = None) -> TestMemoryStore:
        """Return a new store that holds the entries in their order, with their ids and times.

        It lives in memory alone, and two calls give two stores that know nothing of each other.

        Args:
            owner: Whose entries it holds; None for those of all owners together.

        Raises:
            ConfigError: There is no such owner.
        """
        from ..stores import TestMemoryStore

        records = self.entries if owner is None else self.of(owner).entries
        return TestMemoryStore.from_records(records, name=_STORE_NAMES.get(self.name, self.name))

    def __repr__(self) -> str:
        owners = f"owner {self.owners[0]!r}" if len(self.owners) == 1 else counted(len(self.owners), "owner")
        entries = counted(len(self.entries), "entry", "entries")
        return f"Dataset({self.name}: {owners}, {entries}, {counted(len(self.cases), 'case')})"


def names() -> tuple[str, ...]:
    """Return the names of the shipped data sets."""
    return tuple(_STORE_NAMES)


def load(name: str, owner: str | None = None) -> Dataset:
    """Return a shipped data set, or one owner's part of it.

    - ``ikat-demo``: what 34 people said of themselves (13 to 22 statements each), and turns of their conversations
      with an assistant: 159 that need one or more of the statements and 79 that need none. From TREC iKAT; the
      topics' authors made the labels. Times are made up, one minute a statement.
    - ``memorybank-en``: ten days of 15 simulated users with a companion, one entry a round, and 100 questions asked
      afterwards. From MemoryBank; a language model made the labels and no person has checked them.

    A file is read once in a process. Nothing that a caller does to a data set changes what the next one gets.

    Args:
        name: One of :func:`names`.
        owner: Whose entries and cases to return; None for all.

    Raises:
        ConfigError: There is no such data set or owner; the message names the nearest one.
    """
    if name not in _STORE_NAMES:
        raise ConfigError(
            f"There is no data set {name!r}; those shipped are {', '.join(names())}.{nearest(str(name), names())}",
            key="name",
            value=name,
            allowed=names(),
        )
    raw, cases = _read(name)
    entries = tuple(_entry(item) for item in raw["entries"])
    dataset = Dataset(
        name=name,
        entries=entries,
        cases=cases,
        owners=tuple(dict.fromkeys(entry.owner for entry in entries if entry.owner is not None)),
        license=raw["license"],
        attribution=raw["attribution"],
        source=raw["source"],
    )
    return dataset if owner is None else dataset.of(owner)


def _file(dataset: str, name: str) -> Traversable:
    return files("memwb.datasets") / dataset / name


@cache
def _read(name: str) -> tuple[dict[str, Any], tuple[Case, ...]]:
    """Parse a data set's file; cases keep their own copies, entries are made anew at each call of :func:`load`."""
    raw: dict[str, Any] = orjson.loads(_file(name, "data.json").read_bytes())
    return raw, tuple(Case(**item) for item in raw["cases"])


def _entry(item: dict[str, Any]) -> Record:
    return Record(
        id=item["id"],
        content=item["content"],
        created_at=parse_stamp(item["createdAt"]),
        owner=item["metadata"]["owner"],
        metadata=dict(item["metadata"]),
    )
