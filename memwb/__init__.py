"""memwb: a workbench for agent memory in Jupyter.

It shows which memories reach a model's prompt and why the others do not, lets the settings and callbacks be
changed live, scores them over cases, and hands them to an agent unchanged. Start with `Workbench`.

The names below load their module when they are first used, so that ``import memwb`` costs next to nothing and
``import memwb.memory`` needs no more than the standard library and orjson.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memwb import callbacks, datasets, sessions, testing
    from memwb._options import options
    from memwb.evaluation import evaluate
    from memwb.frames import frame
    from memwb.memory import MemoryManager
    from memwb.memory.messages import text
    from memwb.stores import TestMemoryStore
    from memwb.widgets import Workbench
    from memwb.workbench.snapshot import snapshot

__version__ = "0.1.0"

__all__ = [
    "MemoryManager",
    "TestMemoryStore",
    "Workbench",
    "__version__",
    "callbacks",
    "datasets",
    "evaluate",
    "frame",
    "options",
    "sessions",
    "snapshot",
    "testing",
    "text",
]

_HOME = {
    "MemoryManager": "memwb.memory",
    "TestMemoryStore": "memwb.stores",
    "Workbench": "memwb.widgets",
    "evaluate": "memwb.evaluation",
    "frame": "memwb.frames",
    "options": "memwb._options",
    "snapshot": "memwb.workbench.snapshot",
    "text": "memwb.memory.messages",
}
_MODULES = ("callbacks", "datasets", "sessions", "testing")


def __getattr__(name: str) -> object:
    """Load a name of the face from its home at its first use (PEP 562)."""
    if name in _MODULES:
        return import_module(f"memwb.{name}")  # the import itself binds the name here
    if name in _HOME:
        value: object = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name.startswith("_"):  # asked for by tools, and by the import of a private module, which expect a plain answer
        raise AttributeError(f"module 'memwb' has no attribute {name!r}", name=name)
    from memwb.errors import nearest

    raise AttributeError(
        f"module 'memwb' has no attribute {name!r}; it offers {', '.join(_public())}.{nearest(name, __all__)} "
        f"Anything else is imported from its own module, such as `from memwb.stores import ...`.",
        name=name,
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _public() -> list[str]:
    return [name for name in __all__ if not name.startswith("_")]
