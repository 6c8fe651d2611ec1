"""A folder that is replaced as a whole, whenever the process is killed.

No system moves a folder into the place of another one in one step: the earlier folder is moved aside first. A process
that is killed in between leaves it there, under a hidden name, where :func:`standing` finds it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["put_in_place", "standing", "start"]

_ABANDONED = 3600  # seconds: a folder that nobody has written into for so long is no one's work any more
_TRIES = 20  # of writers that replace one folder at the same time


def start(path: Path) -> Path:
    """Make the hidden folder in which the new content of ``path`` is gathered, and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = _beside(path, "new")
    new.mkdir()
    return new


def put_in_place(new: Path, path: Path, sign: str) -> None:
    """Move a complete folder to ``path``, in the place of what is there, and remove what killed processes left.

    Args:
        new: What :func:`start` made.
        path: The place.
        sign: The file that tells such a folder; :func:`standing` asks for it.

    Raises:
        OSError: It cannot be moved; what was at ``path`` is there again.
    """
    for left in range(_TRIES, -1, -1):
        old = _beside(path, "old")
        with suppress(FileNotFoundError):
            path.rename(old)
        try:
            new.rename(path)
            break
        except OSError:
            if not path.exists() and old.exists():
                old.rename(path)
                raise
            if not path.exists() or not left:  # else another writer was quicker: its folder is the earlier one now
                raise
    for each in _leftovers(path, "old"):
        _remove(each, sign)
    for each in _leftovers(path, "new"):
        if _age(each) > _ABANDONED:  # a younger one may be another process's work
            _remove(each, sign)


def standing(path: Path, sign: str) -> Path | None:
    """Return where the folder stands: at ``path``, or aside where a killed process left it; None where there is none.

    Nothing is moved: the next :func:`put_in_place` tidies up.
    """
    if (path / sign).is_file():
        return path
    if path.exists():
        return None
    aside = [each for each in _leftovers(path, "old") if (each / sign).is_file()]
    # A writer may have finished while we looked aside.
    return path if (path / sign).is_file() else min(aside, key=_age, default=None)


def _beside(path: Path, kind: str) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.{kind}")


def _leftovers(path: Path, kind: str) -> Iterator[Path]:
    before, after = f".{path.name}.", f".{kind}"
    try:
        names = os.listdir(path.parent)
    except OSError:
        return
    for name in names:
        mark = name.removeprefix(before).removesuffix(after)
        if name == f"{before}{mark}{after}" and len(mark) == 12 and set(mark) <= set("0123456789abcdef"):
            yield path.parent / name


def _age(folder: Path) -> float:
    try:
        return time.time() - folder.stat().st_mtime
    except OSError:  # it is gone
        return 0.0


def _remove(folder: Path, sign: str) -> None:
    """Remove a folder, its sign first: one that is half removed must not be taken for a whole one."""
    (folder / sign).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
