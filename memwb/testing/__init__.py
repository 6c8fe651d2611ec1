"""Tools for tests of agents, stores and notebooks: yours as well as memwb's.

The store contracts need pytest; nothing else here does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._determinism import Frozen, FrozenClock, SequentialIds, frozen
from ._faulty import FaultyStore
from ._gate import check_folder
from ._models import FaultyModel, ModelCall, ScriptedModel
from ._replay import ReplayAgent, ReplayStep

if TYPE_CHECKING:
    from .contracts import MemoryStoreContract
    from .sessions import SessionStoreContract

__all__ = [
    "FaultyModel",
    "FaultyStore",
    "Frozen",
    "FrozenClock",
    "MemoryStoreContract",
    "ModelCall",
    "ReplayAgent",
    "ReplayStep",
    "ScriptedModel",
    "SequentialIds",
    "SessionStoreContract",
    "check_folder",
    "frozen",
    "sanitize_file",
]


def sanitize_file() -> Path:
    """Return the rules by which nbval ignores what differs from run to run (addresses, widget ids, progress times).

    Use it as ``pytest --nbval --nbval-sanitize-with=FILE``, with the path that
    ``python -c "import memwb.testing; print(memwb.testing.sanitize_file())"`` prints.
    """
    return Path(__file__).with_name("nbval_sanitize.cfg")


_CONTRACTS = {"MemoryStoreContract": "contracts", "SessionStoreContract": "sessions"}


def __getattr__(name: str) -> Any:
    if name in _CONTRACTS:
        from importlib import import_module

        import pytest

        home = f"{__name__}.{_CONTRACTS[name]}"
        if home not in sys.modules:
            pytest.register_assert_rewrite(home)
        return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
