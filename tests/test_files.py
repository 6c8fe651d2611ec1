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
from memwb._files import exclusively, expand, look, read, replace, resolve, safe_name


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
    path.chmod(0o640)
    replace(path, b"two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


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
    for failing in ("replace", "chmod", "stat"):
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


def test_without_fcntl_the_filelock_package_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class FileLock:
        def __init__(self, path: str) -> None:
            self.path = path

        def __enter__(self) -> None:
            calls.append(f"lock {Path(self.path).name}")

        def __exit__(self, *_: object) -> None:
            calls.append("unlock")

    module = type(sys)("filelock")
    module.FileLock = FileLock  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "filelock", module)
    monkeypatch.setattr(_files, "fcntl", None)
    exclusively(tmp_path / "a", lambda: calls.append("action"))
    assert calls == ["lock a.lock", "action", "unlock"]


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
