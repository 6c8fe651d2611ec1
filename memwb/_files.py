"""Files that hold what matters: safe names, fixed places, whole replacements and locks.

A file is only ever replaced as a whole, so a reader needs no lock and sees the old file or the new one. Writers take
turns by :func:`exclusively`: threads of one process by a lock in memory, processes by an advisory lock on
``<file>.lock``, which stays where it is. Only programs that take the same lock wait for each other; the SDKs take none.

The lock file holds the name of the last writer's temporary file: so the next writer removes what a killed one left
behind without looking through the folder. Nobody else can be writing to it, since a writer holds the lock all the time.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple, NewType, TypeVar

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

_T = TypeVar("_T")

Signature = tuple[int, int, int, int, int]
"""Device, inode, size, mtime and ctime in nanoseconds: it differs when a file was replaced or written to."""

Part = bytes | bytearray | memoryview


Target = NewType("Target", str)
"""The absolute path of a file that is no symbolic link: see :func:`resolve`."""


class Written(NamedTuple):
    """A file that :func:`replace` has put in place.

    Attributes:
        signature: Its signature.
        sealed: Whether any later write shows in the signature, however soon it comes. The file's mtime is then one
            that no clock gives any more: a nanosecond before the moment of writing, and kept as exactly that.
    """

    signature: Signature
    sealed: bool


class FileChangedError(Exception):
    """The file that was to be replaced is no longer in the state that the caller has seen."""


class LockedError(Exception):
    """Another process holds the lock just now."""


class Appended(NamedTuple):
    """What :func:`append` did.

    Attributes:
        before: The signature of the file before.
        data: What was added, with the newline that was missing.
        signature: As for :class:`Written`.
        sealed: As for :class:`Written`.
    """

    before: Signature
    data: bytes
    signature: Signature
    sealed: bool


UNSEEN: Final = object()
"""For ``replace(over=)``: the caller has not looked at the old file."""

_JOINED = 1 << 20  # less than this is put together in memory: one step for the system instead of several
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp", re.DOTALL)
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_guard = threading.Lock()
_thread_locks: dict[str, threading.Lock] = {}
_held: dict[str, FileIO] = {}  # the lock files that this process holds now, by target
_holders: dict[str, int] = {}  # and the threads that do
_swept: set[str] = set()
_free: dict[str, str] = {}  # by target: a name that this process has noted, and that no file has any more


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


def resolve(path: str | Path) -> Target:
    """Follow a symbolic link in the file's place: what is locked and replaced is the file that it leads to."""
    return Target(os.path.realpath(path) if os.path.islink(path) else str(path))


def signature(status: os.stat_result) -> Signature:
    """Return what identifies this state of a file."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def look(path: str | Path) -> Signature | None:
    """Return the file's signature, or None where there is no file."""
    status = _status(path)
    return None if status is None else signature(status)


def read(path: str | Path) -> tuple[bytes, Signature] | None:
    """Return the file's bytes and the signature they belong to, or None where there is no file."""
    for _ in range(5):  # again when somebody writes into the file meanwhile
        try:
            _regular(os.stat(path), path)  # a pipe would block on opening
            with open(path, "rb", buffering=0) as file:
                before = signature(os.fstat(file.fileno()))
                data = file.read()
                after = signature(os.fstat(file.fileno()))
        except FileNotFoundError:
            return None
        if before == after and len(data) == after[2]:
            break
    return data, after


def replace(
    target: Target,
    data: Part | Sequence[Part],
    *,
    durable: bool = False,
    over: object = UNSEEN,
    mode: int = 0o666,
    under: Target | None = None,
) -> Written:
    """Put a new file with these bytes in the place of the old one, whole or not at all; call it under the lock.

    Missing folders are made. The new file has the permissions of the old one, and a later time, so that :func:`look`
    tells them apart even where the file system's clock is coarse. It survives a kill of the process; a power cut only
    if ``durable``.

    Args:
        target: The file.
        data: Its new bytes, whole or in parts.
        durable: Wait until the file and its place in the folder are on the disk.
        over: The signature (None: no file) that the old file must still have just before it is replaced.
        mode: The permissions of a file that is new, as far as the process's mask leaves them.
        under: The file whose lock the caller holds, where that is another one; it lies in a folder above.

    Raises:
        FileChangedError: The old file is not as ``over`` says. It is untouched.
        OSError: It could not be written. The old file is untouched and no temporary file is left.
    """
    folder, name = os.path.split(target)
    old = _status(target)
    lock = target if under is None else under
    noted = _free.pop(target, "") if lock == target and target in _held else ""
    again = noted != "" and os.sep not in noted
    temporary = os.path.join(folder, noted if again else _temporary_name(name))
    if not again:
        _note(lock, temporary)
    if old is None:
        _make_folder(folder)
    try:
        if old is not None:
            mode = stat.S_IMODE(old.st_mode)
        _write_new(temporary, [data] if isinstance(data, Part) else data, mode, durable)
        status = os.stat(temporary)
        if old is not None and status.st_mode != old.st_mode:  # the process's mask took something away
            os.chmod(temporary, mode)
        written, sealed = _dated(temporary, signature(status), None if old is None else signature(old)[3])
        if over is not UNSEEN and look(target) != over:
            raise FileChangedError(target)
        os.replace(temporary, target)
        _free[lock] = _from_folder_of(lock, temporary)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    if durable:
        _sync_folders(folder, all_above=old is None)
    now = look(target)  # renaming changed the ctime
    untouched = now is not None and now[:4] == written[:4]
    return Written(now if now is not None and untouched else written, sealed and untouched)


def append(target: Target, data: bytes, *, durable: bool = False) -> Appended:
    """Put bytes at the end of a file in one write, on a line of their own; call it under a lock.

    A missing file is made, its folder not. Where the file does not end in a newline, one is put before the bytes. If
    the write fails or is interrupted, the file is cut back to what it was.

    Raises:
        OSError: It could not be written.
    """
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
    try:
        descriptor, new = os.open(target, flags), False
    except FileNotFoundError:
        descriptor, new = os.open(target, flags | os.O_CREAT, 0o666), True
    try:
        before = signature(_regular(os.fstat(descriptor), target))
        size = before[2]
        if size and _last_byte(descriptor, size) != b"\n":
            data = b"\n" + data
        try:
            done = os.write(descriptor, data)
            while done < len(data):  # the system may take less than it is given
                done += os.write(descriptor, data[done:])
        except BaseException:
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
        if durable:
            _sync(descriptor)
        return Appended(before, data, *_sealed(descriptor))
    finally:
        os.close(descriptor)
        if new and durable:
            _sync_folders(os.path.dirname(target), all_above=True)


def _last_byte(descriptor: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, 1, size - 1)
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _sealed(descriptor: int) -> Written:
    """Date a file that has just been written to a nanosecond before that, see :class:`Written`."""
    status = os.fstat(descriptor)
    if os.utime not in os.supports_fd:
        return Written(signature(status), sealed=False)
    passed = status.st_mtime_ns - 1
    os.utime(descriptor, ns=(passed, passed))
    dated = signature(os.fstat(descriptor))
    return Written(dated, sealed=dated[3] == passed)


def keep_notes(target: Target) -> None:
    """Let the lock file name a temporary file, one that is not there; call it under the lock.

    So later holders need not look through the folder for what killed writers have left, though nothing is replaced.
    """
    lock = _held.get(target)
    if lock is not None and lock.writable() and _noted(lock) != _free.get(target):
        folder, name = os.path.split(target)
        temporary = _temporary_name(name)
        _note(target, os.path.join(folder, temporary))
        if _noted(lock) == temporary:
            _free[target] = temporary


def is_being_changed(target: Target) -> bool:
    """Whether somebody else holds the lock just now: another process, or another thread of this one. Never waits."""
    if target in _held:
        return _holders.get(target) != threading.get_ident()
    if fcntl is None:
        return False
    try:
        with FileIO(f"{target}.lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(file, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:  # there is no lock file, or it is not for this user: so nobody can be asked
        return False
    return False


def turn(target: Target) -> int | None:
    """Return a number that stays until a holder of the lock calls :func:`mark`; call it under the lock.

    None: it cannot be told whether that has happened.
    """
    lock = _held.get(target)
    return None if lock is None else os.fstat(lock.fileno()).st_mtime_ns


def mark(target: Target, turn: int | None) -> int | None:
    """Let those who hold the lock later know that something is being changed; call it under the lock, in this turn.

    Returns:
        The new turn, as far as the file system keeps nanoseconds; None where there is none.
    """
    lock = _held.get(target)
    if lock is None or turn is None or os.utime not in os.supports_fd:
        return None
    now = max(time.time_ns(), turn + 1)
    try:
        os.utime(lock.fileno(), ns=(now, now))
    except OSError:  # another user's lock file
        return None
    return now


def _write_new(path: str, parts: Sequence[Part], mode: int, durable: bool) -> None:
    with FileIO(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        if len(parts) > 1 and sum(map(len, parts)) < _JOINED:
            parts = [b"".join(parts)]
        for part in parts:
            with memoryview(part) as view:
                done = 0
                while done < len(view):  # the system may take less than it is given
                    done += file.write(view[done:])
        if durable:
            _sync(file.fileno())


def _sync(descriptor: int) -> None:
    full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync alone does not reach the disk there
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


def _sync_folders(folder: str, *, all_above: bool) -> None:
    """Make a rename last, and for a new file also the folders, which may be new themselves."""
    if os.name == "nt":  # folders cannot be opened there
        return
    above = [str(parent) for parent in Path(folder).parents] if all_above else []
    for place in (folder, *above):
        try:
            descriptor = os.open(place, os.O_RDONLY)
        except OSError:
            if place == folder:
                raise
            continue  # not readable for this user, hence not made by it
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, f"{folder} is no folder", folder) from error


def _dated(path: str, written: Signature, than: int | None) -> Written:
    """Give a new file, as it was written, a time above another's; sealed, if it is one that no later write can have.

    The system dates a write with the current tick of its clock, or later. A nanosecond earlier is a time that has
    passed, unless the file system cannot keep such a time.
    """
    passed = written[3] - 1
    if than is None or than < passed:
        written = _with_mtime(path, passed)
        if written[3] == passed:
            return Written(written, sealed=True)
    for step in (0, 1, 10_000_000, 2_000_000_000):  # by as little as the file system can tell apart
        if than is None or written[3] > than:
            break
        written = _with_mtime(path, than + step)
    return Written(written, sealed=False)


def _with_mtime(path: str, mtime: int) -> Signature:
    os.utime(path, ns=(mtime, mtime))
    return signature(os.stat(path))


def exclusively(target: Target, action: Callable[[], _T], *, wait: bool = True) -> _T:
    """Do something to a file while no other thread or process does, and return what it gives.

    Not reentrant: the action must not call this for the same file. It is no context manager, so that an interrupt
    between taking a lock and entering the block cannot leave the lock taken.

    Args:
        target: The file.
        action: What is to be done.
        wait: Whether to wait for other processes; for other threads of this one it is waited in any case.

    Raises:
        LockedError: Another process holds the lock, and ``wait`` is False.
        OSError: The folder or the lock file cannot be made, or the file system knows no locks.
    """
    with _guard:
        lock = _thread_locks.setdefault(target, threading.Lock())
    with lock:
        if fcntl is None:
            _make_folder(os.path.dirname(target))
            with _file_lock(f"{target}.lock", wait):
                _clean(target, None)
                return action()
        while True:
            with _open_lock(f"{target}.lock") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise LockedError(target) from error
                try:
                    if _is_at(file, f"{target}.lock"):
                        _held[target], _holders[target] = file, threading.get_ident()
                        _clean(target, file)
                        return action()
                finally:
                    _held.pop(target, None)
                    fcntl.flock(file, fcntl.LOCK_UN)  # closing would not do when a fork has copied the descriptor


def _open_lock(path: str) -> FileIO:
    try:
        return _open_for_notes(path)
    except (FileNotFoundError, NotADirectoryError):
        _make_folder(os.path.dirname(path))
        return _open_for_notes(path)
    except PermissionError:
        with suppress(FileNotFoundError):
            return FileIO(path, "rb")  # another user's lock file: it can be locked all the same
        raise


def _open_for_notes(path: str) -> FileIO:
    return FileIO(path, "r+b", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666))


def _is_at(file: FileIO, path: str) -> bool:
    """Whether the lock file is still the one at its place: somebody may have deleted it while this writer waited."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


@contextmanager
def _file_lock(path: str, wait: bool) -> Iterator[None]:
    import importlib

    lock = importlib.import_module("filelock").FileLock(path, timeout=-1 if wait else 0)
    try:
        lock.acquire()
    except TimeoutError as error:
        raise LockedError(path) from error
    try:
        yield
    finally:
        lock.release()


def _temporary_name(name: str) -> str:
    return f".{name}.{os.urandom(6).hex()}.tmp"


def _is_temporary(name: str, of: str) -> bool:
    """Whether this is the name of this file's temporary file, or the path of any in a folder below."""
    *folders, last = name.split(os.sep)
    found = _TEMPORARY.fullmatch(last)
    return found is not None and (found[1] == of if not folders else not {"", ".."}.intersection(folders))


def _note(target: str, temporary: str) -> None:
    """Write down the name of the temporary file that is about to be made, if the caller holds the lock.

    Only over such a name: a file at the lock's place that holds anything else is somebody's own, and stays as it is.
    """
    lock = _held.get(target)
    if lock is None or not lock.writable():
        return
    noted = _noted(lock)
    if not noted or _is_temporary(noted, os.path.basename(target)):
        name = os.fsencode(_from_folder_of(target, temporary))
        os.pwrite(lock.fileno(), name + b"\0", 0)  # a longer one may have stood there


def _from_folder_of(target: str, path: str) -> str:
    return path[len(os.path.dirname(target)) :].lstrip(os.sep)


def _noted(lock: FileIO) -> str:
    return os.fsdecode(os.pread(lock.fileno(), 4096, 0).partition(b"\0")[0])


def _clean(target: str, lock: FileIO | None) -> None:
    """Remove the temporary files of writers that were killed; the caller holds the lock.

    The last writer's is named in the lock file: where that was this process, and no file has the name any more, the
    name is used again. The whole folder is looked through once in a process, and whenever the lock file cannot be
    relied on.
    """
    folder, name = os.path.split(target)
    noted = _noted(lock) if lock is not None and lock.writable() else ""
    if noted and noted == _free.get(target):
        return
    _free.pop(target, None)
    left = [noted] if _is_temporary(noted, name) else []
    if not left or target not in _swept:
        left += [entry for entry in os.listdir(folder) if _is_temporary(entry, name)]
    _remove(folder, left)
    _swept.add(target)


def _remove(folder: str, names: Sequence[str]) -> None:
    for name in names:
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))


def described(error: OSError, message: str, path: Path) -> OSError:
    """Return the same kind of OSError with a sentence for a person; ``errno`` and ``path`` are kept beside it."""
    told = type(error)(message)
    told.errno = error.errno
    told.__dict__["path"] = path
    return told


def _status(path: str | Path) -> os.stat_result | None:
    try:
        return _regular(os.stat(path), path)
    except FileNotFoundError:
        return None


def _regular(status: os.stat_result, path: str | Path) -> os.stat_result:
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
    _held.clear()
    _free.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
