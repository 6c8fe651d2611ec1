"""Jupyter and IPython without the settings, extensions and history of the person who runs the tests."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

FOLDERS = (
    "IPYTHONDIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
)


def folders(base: Path) -> dict[str, str]:
    """Make an empty folder under ``base`` for each variable, and return what to set."""
    made = {name: str(base / name.lower()) for name in FOLDERS}
    for path in made.values():
        Path(path).mkdir(parents=True, exist_ok=True)
    return made


def without_jupyter(env: dict[str, str]) -> dict[str, str]:
    """Return ``env`` without any setting of Jupyter or IPython."""
    return {name: value for name, value in env.items() if not name.startswith(("JUPYTER", "IPYTHON"))}


_PATCH: pytest.StashKey[pytest.MonkeyPatch] = pytest.StashKey()


def isolate(config: pytest.Config) -> None:
    """Point Jupyter and IPython at temporary folders until the run ends; done once however often it is called."""
    if _PATCH in config.stash:
        return
    config.stash[_PATCH] = patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    temporary = tempfile.TemporaryDirectory(prefix="memwb-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(temporary.cleanup)
    for name in os.environ.keys() - without_jupyter(dict(os.environ)).keys():
        patch.delenv(name)
    for name, path in folders(Path(temporary.name)).items():
        patch.setenv(name, path)
