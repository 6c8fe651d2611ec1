"""Files are named safely, replaced whole, and written by one at a time."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memwb import _files
from memwb._files import FileChangedError, exclusively, expand, look, read, replace, resolve, safe_name


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("notes", "notes"),
        ("My notes.v2-x_y", "My_notes.v2-x_y"),
        ("a/b", "a_b"),
        ("a\\b", "a_b"),
        ("../../etc/passwd", "____etc_passwd"),
        ("...", "_."),
        ("日本", "__"),
        ("naïve\n", "na_ve_"),
    ],
)
def test_a_name_becomes_one_safe_part_of_a_path(name: str, file: str) -> None:
    assert safe_name(name) == file


def test_a_path_is_fixed_when_it_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert expand("~/m.json") == tmp_path / "m.json"
    assert expand("sub/m.json") == tmp_path / "sub" / "m.json"
    assert expand(tmp_path / "x") == tmp_path / "x"


def test_no_file_has_no_bytes_and_no_signature(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None
    assert look(tmp_path / "none") is None


def test_bytes_are_read_with_the_signature_they_belong_to(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    assert read(path) == (b"one", look(path))


def test_a_folder_and_a_pipe_are_refused_on_every_way(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path, IsADirectoryError), (tmp_path / "pipe", OSError)):
        for action in (read, look, lambda path: replace(path, b"")):
            with pytest.raises(kind):
                action(path)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_replacement_makes_folders_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.json"
    written = replace(path, b"one")
    assert read(path) == (b"one", written.signature)
    assert os.listdir(path.parent) == ["a.json"]


def test_a_folder_that_is_a_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError, match="is no folder"):
        exclusively(tmp_path / "file" / "a.json", lambda: None)


def test_a_replacement_keeps_the_files_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    for mode in (0o640, 0o600, 0o666, 0o777):  # the process's mask takes something of the last ones
        path.chmod(mode)
        replace(path, b"two")
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_replacement_goes_to_the_target_of_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real" / "a")
    replace(resolve(link), b"one")
    assert link.is_symlink()
    assert (tmp_path / "real" / "a").read_bytes() == b"one"
    assert os.listdir(tmp_path / "real") == ["a"]


def test_a_failed_replacement_changes_nothing_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    for failing in ("replace", "utime", "stat"):
        with monkeypatch.context() as patch:
            original = getattr(os, failing)

            def fail(*args: object, original=original, **kwargs: object) -> object:
                if str(args[0]).endswith(".tmp"):
                    raise OSError(28, "No space left on device")
                return original(*args, **kwargs)

            patch.setattr(_files.os, failing, fail)
            with pytest.raises(OSError, match="No space left"):
                replace(path, b"two")
        assert path.read_bytes() == b"one"
        assert os.listdir(tmp_path) == ["a"]


def test_each_new_file_is_later_than_the_one_before_even_with_a_coarse_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    replace(path, b"0")
    ahead = path.stat().st_mtime_ns + 3_600_000_000_000  # as if the clock had been put back by an hour
    os.utime(path, ns=(ahead, ahead))
    times = [ahead]
    for number in range(5):
        replace(path, b"%d" % number)
        times.append(path.stat().st_mtime_ns)
    assert times == sorted(set(times))


def test_a_new_file_is_later_also_where_times_are_kept_in_steps_of_four_milliseconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_time = os.utime
    step = 4_000_000
    monkeypatch.setattr(
        _files.os, "utime", lambda path, ns: set_time(path, ns=(ns[0] // step * step, ns[1] // step * step))
    )
    path = tmp_path / "a"
    replace(path, b"0")
    ahead = (path.stat().st_mtime_ns // step + 1_000_000) * step
    set_time(path, ns=(ahead, ahead))
    replace(path, b"1")
    assert path.stat().st_mtime_ns > ahead


def test_the_lock_lets_threads_in_one_at_a_time(tmp_path: Path) -> None:
    inside = 0
    most = 0

    def action() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threading.Event().wait(0.002)
        inside -= 1

    def work() -> None:
        for _ in range(5):
            exclusively(tmp_path / "sub" / "a", action)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (inside, most) == (0, 1)
    assert os.listdir(tmp_path / "sub") == ["a.lock"]


def test_a_link_and_its_target_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert resolve(tmp_path / "link") == str(tmp_path / "a")
    exclusively(resolve(tmp_path / "link"), lambda: None)
    exclusively(tmp_path / "a", lambda: None)
    assert sorted(os.listdir(tmp_path)) == ["a.lock", "link"]


def test_the_lock_is_free_again_after_an_error_and_the_result_is_handed_on(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        exclusively(tmp_path / "a", lambda: 1 // 0)
    assert exclusively(tmp_path / "a", lambda: "done") == "done"


def test_another_process_waits_for_the_lock(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\nfrom memwb._files import exclusively\n"
        "print('ready', flush=True)\n"
        "exclusively(pathlib.Path(sys.argv[1]), lambda: print('in', flush=True))\n"
    )
    path = tmp_path / "a"

    def action() -> subprocess.Popen[str]:
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.3)
        return child

    child = exclusively(path, action)
    output, _ = child.communicate(timeout=30)
    assert (output, child.returncode) == ("in\n", 0)


def test_what_a_killed_writer_left_behind_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left = tmp_path / ".a.json.0123456789ab.tmp"
    others = [tmp_path / name for name in ("a.json.tmp", ".b.json.0123456789ab.tmp", ".a.json.bak.tmp")]
    for path in (left, *others):
        path.write_bytes(b"half")
    exclusively(tmp_path / "a.json", lambda: None)
    assert not left.exists()
    assert all(path.exists() for path in others)


def test_the_next_writer_removes_what_a_killed_one_left_also_late_in_a_process(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    exclusively(path, lambda: replace(path, b"one"))  # looks through the folder: not again from here on
    other = tmp_path / ".a.json.0123456789ab.tmp"
    other.write_bytes(b"of somebody who takes no lock")
    code = (
        "import os, sys, signal\nfrom memwb import _files\n"
        "_files.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "_files.exclusively(sys.argv[1], lambda: _files.replace(sys.argv[1], b'two'))\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -9
    left = set(os.listdir(tmp_path)) - {"a.json", "a.json.lock"}
    assert len(left) == 1, "the killed process looked through the folder first"
    assert left != {other.name}
    exclusively(path, lambda: None)
    assert sorted(os.listdir(tmp_path)) == ["a.json", "a.json.lock"]
    assert path.read_bytes() == b"one"


def test_a_process_names_its_temporary_files_alike_until_another_one_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, names = tmp_path / "a.json", []
    rename = os.replace

    def renamed(name: str, target: str) -> None:
        names.append(name)
        rename(name, target)

    monkeypatch.setattr(_files.os, "replace", renamed)
    for text in (b"one", b"two", b"three"):
        exclusively(path, lambda text=text: replace(path, text))
    monkeypatch.setattr(_files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        exclusively(path, lambda: replace(path, b"four"))
    monkeypatch.setattr(_files.os, "replace", renamed)
    exclusively(path, lambda: replace(path, b"five"))
    (tmp_path / "a.json.lock").write_bytes(b".a.json.0123456789ab.tmp")
    (tmp_path / ".a.json.0123456789ab.tmp").write_bytes(b"half, of another process")
    exclusively(path, lambda: replace(path, b"six"))
    assert names[0] == names[1] == names[2]
    assert len(set(names)) == 3
    assert sorted(os.listdir(tmp_path)) == ["a.json", "a.json.lock"]
    assert path.read_bytes() == b"six"


@pytest.mark.parametrize(
    "note", [b"", b"nonsense", b".a.json.0123456789ab.tmp/../b", b"../b", b".b.json.0123456789ab.tmp"]
)
def test_a_lock_file_that_names_anything_else_makes_nothing_else_go_away(tmp_path: Path, note: bytes) -> None:
    path = tmp_path / "a.json"
    exclusively(path, lambda: None)
    left = tmp_path / ".a.json.ba9876543210.tmp"
    others = [tmp_path / "b", tmp_path / ".b.json.0123456789ab.tmp"]
    for each in (left, *others):
        each.write_bytes(b"")
    (tmp_path / "a.json.lock").write_bytes(note)
    exclusively(path, lambda: None)
    assert not left.exists()
    assert all(each.exists() for each in others)


def test_a_lock_file_of_another_user_is_locked_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    (tmp_path / "a.json.lock").write_bytes(b"")

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(_files, "_open_for_notes", refuse)
    exclusively(path, lambda: replace(path, b"one"))
    (tmp_path / ".a.json.0123456789ab.tmp").write_bytes(b"")
    exclusively(path, lambda: replace(path, b"two"))
    assert sorted(os.listdir(tmp_path)) == ["a.json", "a.json.lock"]
    (tmp_path / "a.json.lock").unlink()
    with pytest.raises(PermissionError):
        exclusively(path, lambda: None)


def test_a_lock_file_that_was_deleted_meanwhile_is_not_relied_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    is_at = _files._is_at
    looks: list[bool] = []

    def deleted_once(file: object, at: str) -> bool:
        if not looks:
            os.unlink(at)
        looks.append(is_at(file, at))  # type: ignore[arg-type]
        return looks[-1]

    monkeypatch.setattr(_files, "_is_at", deleted_once)
    assert exclusively(path, lambda: "done") == "done"
    assert looks == [False, True]


def test_a_file_that_is_not_as_it_was_seen_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    seen = replace(path, b"one", over=None).signature
    with pytest.raises(FileChangedError):
        replace(path, b"two", over=None)
    path.write_bytes(b"foreign")
    with pytest.raises(FileChangedError):
        replace(path, b"two", over=seen)
    assert path.read_bytes() == b"foreign"
    assert os.listdir(tmp_path) == ["a"]
    replace(path, b"two", over=look(path))
    assert path.read_bytes() == b"two"


def test_parts_are_written_one_after_the_other(tmp_path: Path) -> None:
    replace(tmp_path / "a", [b"one", memoryview(b"_two_")[1:4], bytearray(b""), bytearray(b"three")])
    assert (tmp_path / "a").read_bytes() == b"onetwothree"


def test_a_write_that_takes_only_a_part_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(_files.FileIO):
        def write(self, data: object) -> int:
            return super().write(memoryview(data)[:3])  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(_files, "FileIO", Slow)
    replace(tmp_path / "a", [b"0123456789", b"ab"])
    assert (tmp_path / "a").read_bytes() == b"0123456789ab"


def test_what_was_just_written_is_sealed_so_that_the_next_write_shows_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for number in range(50):
        written = replace(path, b"%02d" % number)
        assert written.sealed
        assert written.signature == look(path)
        with path.open("r+b") as file:  # in place, of the same size, as soon as possible
            file.write(b"xx")
        assert look(path) != written.signature
        assert look(path)[3] > written.signature[3]  # type: ignore[index]


@pytest.mark.parametrize("step", [4_000_000, 1_000_000_000, 2_000_000_000])
def test_nothing_is_sealed_where_times_are_kept_in_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    floor_times(monkeypatch, step)
    for number in range(3):
        assert not replace(tmp_path / "a", b"%d" % number).sealed


def floor_times(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let the file system keep times in steps, as older kernels and simpler file systems do."""
    signature, utime = _files.signature, os.utime

    def floored(status: os.stat_result) -> _files.Signature:
        device, inode, size, *times = signature(status)
        return (device, inode, size, *(time // step * step for time in times))  # type: ignore[return-value]

    monkeypatch.setattr(_files, "signature", floored)
    monkeypatch.setattr(
        _files.os, "utime", lambda path, ns: utime(path, ns=(ns[0] // step * step, ns[1] // step * step))
    )


def test_nothing_is_sealed_over_a_file_from_the_future(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    ahead = path.stat().st_mtime_ns + 3_600_000_000_000
    os.utime(path, ns=(ahead, ahead))
    assert not replace(path, b"two").sealed
    assert path.stat().st_mtime_ns > ahead


def test_a_durable_file_and_its_folders_are_on_the_disk_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, os.replace

    def named(descriptor: int) -> str:
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        return "temporary file" if name.endswith(".tmp") else str(Path(name).relative_to(tmp_path))

    def sync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(tmp_path)):
            steps.append(f"sync {named(descriptor)}")
        fsync(descriptor)

    monkeypatch.setattr(_files.os, "fsync", sync)
    monkeypatch.setattr(_files.os, "replace", lambda *names: (steps.append("rename"), rename(*names)))
    replace(tmp_path / "new" / "a", b"one", durable=True)
    assert steps == ["sync temporary file", "rename", "sync new", "sync ."]
    steps.clear()
    replace(tmp_path / "new" / "a", b"two", durable=True)
    assert steps == ["sync temporary file", "rename", "sync new"]
    steps.clear()
    replace(tmp_path / "new" / "a", b"three")
    assert steps == ["rename"]


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    replace(path, b"one", mode=0o600)
    modes: list[str] = []
    utime = os.utime
    monkeypatch.setattr(
        _files.os, "utime", lambda name, ns: (modes.append(oct(os.stat(name).st_mode)[-3:]), utime(name, ns=ns))
    )
    replace(path, b"two")
    assert modes == ["600"]
    assert oct(path.stat().st_mode)[-3:] == "600"


def test_without_fcntl_the_filelock_package_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class FileLock:
        def __init__(self, path: str, timeout: float) -> None:
            self.path, self.timeout = path, timeout

        def acquire(self) -> None:
            if self.timeout == 0:
                raise TimeoutError(self.path)
            calls.append(f"lock {Path(self.path).name}")

        def release(self) -> None:
            calls.append("unlock")

    module = type(sys)("filelock")
    module.FileLock = FileLock  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "filelock", module)
    monkeypatch.setattr(_files, "fcntl", None)
    exclusively(tmp_path / "a", lambda: calls.append("action"))
    assert calls == ["lock a.lock", "action", "unlock"]
    with pytest.raises(_files.LockedError):
        exclusively(tmp_path / "a", lambda: calls.append("never"), wait=False)
    assert len(calls) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_inherit_the_locks_of_other_threads(tmp_path: Path) -> None:
    code = (
        "import os, sys, pathlib, threading, time, warnings\nfrom memwb._files import exclusively\n"
        "warnings.simplefilter('ignore')\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "inside, leave = threading.Event(), threading.Event()\n"
        "thread = threading.Thread(target=lambda: exclusively(path, lambda: (inside.set(), leave.wait())))\n"
        "thread.start(); inside.wait()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    exclusively(path, lambda: os._exit(7))\n"
        "leave.set(); thread.join()\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], capture_output=True, text=True, timeout=30)
    assert done.stdout == "7\n", done.stderr


def test_a_described_error_keeps_kind_number_and_path(tmp_path: Path) -> None:
    told = _files.described(PermissionError(13, "Permission denied", "x"), "A sentence.", tmp_path)
    assert (type(told), str(told), told.errno, told.__dict__["path"]) == (PermissionError, "A sentence.", 13, tmp_path)


def test_somebodys_own_file_at_the_locks_place_stays_as_it_is(tmp_path: Path) -> None:
    target, own = tmp_path / "notes.json", tmp_path / "notes.json.lock"
    own.write_text("my own words")

    exclusively(target, lambda: replace(target, b"[]"))
    assert (target.read_bytes(), own.read_text()) == (b"[]", "my own words")


def test_whether_somebody_else_holds_a_lock_is_told_without_waiting(tmp_path: Path) -> None:
    target = resolve(tmp_path / "a")
    assert _files.is_being_changed(target) is False
    held, end = threading.Event(), threading.Event()

    def hold() -> bool:
        held.set()
        return end.wait(10)

    thread = threading.Thread(target=lambda: exclusively(target, hold))
    thread.start()
    assert held.wait(10)
    assert _files.is_being_changed(target) is True
    program = f"from memwb import _files; print(_files.is_being_changed({str(target)!r}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    end.set()
    thread.join()
    assert done.stdout == "True\n"
    assert _files.is_being_changed(target) is False
    assert exclusively(target, lambda: _files.is_being_changed(target)) is False
