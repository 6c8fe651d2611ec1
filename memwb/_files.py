"""Files that hold what matters: safe names, fixed places, whole replacements and locks.

A file is only ever replaced as a whole, so a reader needs no lock and sees the old file or the new one. Writers take
turns by :func:`exclusively`: threads of one process by a lock in memory, processes by an advisory lock on
``<file>.lock``, which stays where it is. Only programs that take the same lock wait for each other; the SDKs take none.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

_T = TypeVar("_T")

Signature = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime in nanoseconds: it differs when a file was replaced or written to."""

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_guard = threading.Lock()
_thread_locks: dict[str, threading.Lock] = {}
_swept: set[str] = set()


def safe_name(name: str) -> str:
    r"""Turn a store's name into a file name.

    ``..``, ``/`` and ``\`` become ``_``, then each other character outside ``[A-Za-z0-9_.-]``. Different names can give
    the same file name (``a/b`` and ``a_b``): whoever uses it compares the paths.
    """
    for part in ("..", "/", "\\"):
        name = name.replace(part, "_")
    return _UNSAFE.sub("_", name)


def expand(path: str | os.PathLike[str]) -> Path:
    """Fix a path: ``~`` and ``~user`` expanded, made absolute against the current folder.

    Raises:
        RuntimeError: There is no such user, or no home folder is known.
    """
    return Path(path).expanduser().absolute()


def signature(status: os.stat_result) -> Signature:
    """Return what identifies this state of a file."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def look(path: Path) -> Signature | None:
    """Return the file's signature, or None where there is no file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return signature(_regular(status, path))


def read(path: Path) -> tuple[bytes, Signature] | None:
    """Return the file's bytes and the signature they belong to, or None where there is no file."""
    for _ in range(5):  # again when somebody writes into the file meanwhile
        try:
            _regular(path.stat(), path)  # a pipe would block on opening
            with path.open("rb") as file:
                before = signature(os.fstat(file.fileno()))
                data = file.read()
                after = signature(os.fstat(file.fileno()))
        except FileNotFoundError:
            return None
        if before == after and len(data) == after[2]:
            break
    return data, after


def replace(path: Path, data: bytes) -> Signature:
    """Put a new file with these bytes in the place of the old one, whole or not at all; call it under the lock.

    Missing folders are made. A symbolic link stays and its target is replaced. The new file has the permissions of
    the old one, and a later time, so that :func:`look` tells them apart even where the file system's clock is coarse.
    It survives a kill of the process, not a power cut.

    Returns:
        The new file's signature.

    Raises:
        OSError: It could not be written. The old file is untouched and no temporary file is left.
    """
    target = Path(os.path.realpath(path))
    _make_folder(target)
    old = _status(target)
    temporary = target.with_name(f".{target.name}.{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
            _make_later(temporary, old.st_mtime_ns)
        written = os.stat(temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    now = _status(target)  # renaming changed the ctime
    return signature(now if now is not None and now.st_ino == written.st_ino else written)


def _make_folder(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, f"{target.parent} is no folder", str(target)) from error


def _make_later(path: Path, than: int) -> None:
    """Move a file's mtime above another's, by as little as the file system can tell apart."""
    for step in (0, 1, 10_000_000, 2_000_000_000):
        if os.stat(path).st_mtime_ns > than:
            return
        os.utime(path, ns=(than + step, than + step))


def exclusively(path: Path, action: Callable[[], _T]) -> _T:
    """Do something to a file while no other thread or process does, and return what it gives.

    Not reentrant: the action must not call this for the same file. It is no context manager, so that an interrupt
    between taking a lock and entering the block cannot leave the lock taken.

    Raises:
        OSError: The folder or the lock file cannot be made, or the file system knows no locks.
    """
    target = os.path.realpath(path)
    with _guard:
        lock = _thread_locks.setdefault(target, threading.Lock())
    with lock:
        _make_folder(Path(target))
        if fcntl is None:
            with _file_lock(f"{target}.lock"):
                return action()
        with _open_lock(f"{target}.lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                _sweep(target)
                return action()
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # closing would not do when a fork has copied the descriptor


def _open_lock(path: str) -> Any:
    try:
        return open(path, "ab")
    except PermissionError:
        return open(path, "rb")  # another user's lock file: it can be locked all the same


def _file_lock(path: str) -> AbstractContextManager[object]:
    import importlib

    lock: AbstractContextManager[object] = importlib.import_module("filelock").FileLock(path)
    return lock


def _sweep(target: str) -> None:
    """Remove, once in a process, the temporary files of writers that were killed; the caller holds the lock."""
    if target in _swept:
        return
    folder, name = os.path.split(target)
    pattern = re.compile(re.escape(f".{name}.") + r"[0-9a-f]{12}\.tmp")
    for entry in os.listdir(folder):
        if pattern.fullmatch(entry):
            with suppress(OSError):
                os.unlink(os.path.join(folder, entry))
    _swept.add(target)


def described(error: OSError, message: str, path: Path) -> OSError:
    """Return the same kind of OSError with a sentence for a person; ``errno`` and ``path`` are kept beside it."""
    told = type(error)(message)
    told.errno = error.errno
    told.__dict__["path"] = path
    return told


def _status(path: Path) -> os.stat_result | None:
    try:
        return _regular(path.stat(), path)
    except FileNotFoundError:
        return None


def _regular(status: os.stat_result, path: Path) -> os.stat_result:
    """Refuse folders, pipes and devices, which cannot be read or replaced as a file."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return status


def _after_fork_in_child() -> None:
    """Forget locks that other threads of the parent may hold: those threads do not exist here."""
    global _guard
    _guard = threading.Lock()
    _thread_locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
