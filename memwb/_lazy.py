"""Packages whose names load their module when they are first used (PEP 562): few programs need all of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def loading(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: Its ``__name__``.
        modules: The names that a module gives, parted by blanks, by the module's relative name.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}
    held = vars(sys.modules[package])

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        held[name] = getattr(import_module(homes[name], package), name)
        return held[name]

    def listed() -> list[str]:
        return sorted({*held, *held["__all__"]})

    return get, listed
