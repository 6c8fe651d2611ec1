"""How fast the stores of sessions are beside Definable's: measure, print a table, and write it on request.

    python tests/benchmarks/sessions.py [--quick] [--only sqlite files] [--markdown README.md]

Definable 0.3.0 needs Python 3.12: where one is found, an environment with it is made, and both sides are measured with
that interpreter, in processes of their own and in turns. Without it memwb is measured alone, against the limits that
are no ratios. Nothing here is a test: the exit code is 0 however fast memwb was.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from memwb._text import counted  # noqa: E402
from tests.benchmarks import imports, table  # noqa: E402
from tests.benchmarks.limits import Limit, most, ratio  # noqa: E402
from tests.benchmarks.run import environment, row  # noqa: E402
from tests.benchmarks.session_worker import prepared  # noqa: E402
from tests.benchmarks.table import Row  # noqa: E402

PEER = "definable==0.3.0"
MARK = "speed of sessions"
NONE = Limit()


@dataclass(frozen=True)
class Setting:
    """A store in a state, and the limits of its operations: what must hold, and what is aimed at."""

    label: str
    kind: str
    count: int
    limits: dict[str, tuple[Limit, Limit]]
    sessions: int = 1
    durable: bool = False
    peer: bool = True

    @property
    def size(self) -> str:
        """The size as the table shows it."""
        return f"{self.count:,}" + ("" if self.sessions == 1 else f" in {self.sessions}")


WARM_FILES = {name: (NONE, most(0.1)) for name in ("count", "get_entry", "limit=20")}
SETTINGS = (
    Setting("in memory", "memory", 10_000, {
        "add": (ratio(3), ratio(5)), "get_entries": (ratio(4), ratio(8)), "limit=20": (ratio(15), ratio(20)),
        "get_entry": (ratio(3), ratio(5)), "update": (ratio(20), ratio(40)), "delete": (ratio(20), ratio(40)),
    }),
    Setting("in memory", "memory", 100_000, {"update": (ratio(300), NONE), "delete": (ratio(300), NONE)}),
    Setting("SQLite", "sqlite", 10_000, {
        "add": (ratio(2), ratio(8)), "update": (ratio(2), ratio(8)), "delete": (ratio(2), ratio(8)),
        "count": (ratio(4), NONE), "limit=20": (ratio(20), NONE), "get_entries": (ratio(1.5), NONE),
        "get_entry": (ratio(1), ratio(5)),
    }),
    Setting("SQLite, durable", "sqlite", 10_000,
            {"add": (ratio(2), NONE), "update": (ratio(2), NONE), "delete": (ratio(2), NONE)}, durable=True),
    Setting("SQLite", "sqlite", 100_000, {"limit=20": (ratio(150), NONE), "count": (ratio(4), NONE)}),
    Setting("SQLite", "sqlite", 100_000, {"limit=20": (ratio(20), NONE), "count": (ratio(4), NONE)}, sessions=100),
    Setting("files, unchanged", "files", 10_000, {**WARM_FILES, "add": (most(0.03), NONE)}),
    Setting("files, unchanged", "files", 100_000, {**WARM_FILES, "add": (most(0.03), NONE)}, peer=False),
)  # fmt: skip


COLD = {"count": ratio(3), "get_entry": ratio(40), "get_entries": ratio(1.5), "update": ratio(20), "delete": ratio(20)}
"""What the first call of a process on a folder of session files has to hold."""
PROGRAM = """
import asyncio, sys
from memwb.sessions import FileStore, MemoryEntry

async def main():
    async with FileStore(sys.argv[1]) as store:
        await store.add(MemoryEntry("s1", content="another session"))
        await store.get_entries("s0")

asyncio.run(main())
"""
"""A program of memwb's that looks at the folder, and leaves a note of what it found."""


class Benchmark:
    """Measures setting after setting and gathers the rows of the table."""

    def __init__(self, given: argparse.Namespace, peer: str) -> None:
        self.python, self.peer, self.quick = peer or sys.executable, peer, given.quick
        self.folder = given.folder.resolve()
        self.rounds, self.seconds = given.rounds or (1 if given.quick else 3), 0.3 if given.quick else 1.0
        self.rows: list[Row] = []

    def run(self, only: list[str]) -> None:
        """Measure what is wanted."""
        for setting in SETTINGS:
            if (only and setting.kind not in only) or (self.quick and setting.count > 10_000):
                continue
            print(f"{setting.label}, {setting.size} ...", file=sys.stderr, flush=True)
            self._setting(setting)
        if not only or "files" in only:
            self._cold(10_000)
        for kind in ("sqlite", "files"):
            if not only or kind in only:
                self._iterating(kind)
        if not only or "imports" in only:
            self._imports()

    def _setting(self, setting: Setting) -> None:
        rounds: list[dict[str, list[float]]] = [{}, {}]
        for _ in range(self.rounds):
            for at, side in enumerate(("memwb", "definable") if self.peer and setting.peer else ("memwb",)):
                for name, value in self._work(side, setting).items():
                    rounds[at].setdefault(name, []).append(value)
        lock = self._work("memwb", setting, "locking")["lock"] if setting.kind == "files" else 0.0
        for name, (must, stretch) in setting.limits.items():
            own = statistics.median(rounds[0][name])
            peers = [statistics.median(rounds[1][name])] if rounds[1] else []
            label = f"sessions {setting.label}: {name}"
            if name == "add" and must.value is not None:
                label, own = f"{label}, less its lock", max(0.0, own - lock)
            wall = setting.kind == "sqlite" and name in ("add", "update", "delete")
            unit = "ms wall" if wall else "ms"
            self.rows.append(row(label, setting.size, unit, own, peers, must, stretch))

    def _cold(self, count: int) -> None:
        """Measure the first call of a process: on files that an earlier one has read, and on files never seen."""
        source, data = prepared(self.folder / "data", "files", count, 1), self.folder / "data"
        seen, new = data / "seen", data / "new"
        shutil.rmtree(seen, ignore_errors=True)
        shutil.copytree(source, seen)
        time.sleep(2.1)  # a younger file may change again without its times showing it, and is not noted
        self._program(PROGRAM, str(seen))
        for call, must in COLD.items():
            reads = call not in ("update", "delete")
            times: dict[str, list[float]] = {"never seen": [], "seen": [], "definable": []}
            for _ in range(2 * self.rounds + 1):
                for side, place in (("never seen", new), ("seen", seen), ("definable", new)):
                    if (side == "seen" and not reads) or (side == "definable" and not self.peer):
                        continue
                    if side != "seen":
                        shutil.rmtree(new, ignore_errors=True)
                        shutil.copytree(source, new)
                    wanted = {"side": side if side == "definable" else "memwb", "place": str(place), "call": call}
                    times[side].append(self._run(wanted)[call])
            peers = [statistics.median(times["definable"])] if self.peer else []
            for side in ("seen", "never seen"):
                if times[side]:
                    label = f"sessions files {side}, first call of a process: {call}"
                    own = statistics.median(times[side])
                    self.rows.append(row(label, f"{count:,}", "ms", own, peers, must, NONE))

    def _program(self, code: str, *arguments: str) -> None:
        command = [self.python, "-c", code, *arguments]
        subprocess.run(command, cwd=PROJECT, env=environment(self.folder), check=True, capture_output=True)

    def _iterating(self, kind: str) -> None:
        small, large = (
            self._work("memwb", Setting("", kind, count, {}), "iterating")["iterate"] for count in (10_000, 100_000)
        )
        label = f"sessions {'SQLite' if kind == 'sqlite' else 'files'}: memory while iterating"
        self.rows.append(row(label, "100,000", "MB", large, [], most(max(2 * small, 4.0)), NONE))

    def _imports(self) -> None:
        given = (PROJECT, environment(self.folder), 7 * self.rounds)
        names = "Memory, SQLiteStore"
        own = imports.importing(self.python, "memwb.sessions", names, *given)
        peers = [imports.importing(self.python, "definable.memory", names, *given)] if self.peer else []
        times = [found["cpu"] for found in peers]
        limit = ratio(8) if self.peer else most(60)
        self.rows += [
            row("import memwb.sessions", "", "ms", own["cpu"], times, limit, most(40)),
            row("import memwb.sessions: memory", "", "MB", own["mb"], [], most(14), NONE),
            row("import memwb.sessions: heavy packages", "", "", len(own["heavy"]), [], most(0), NONE),
        ]

    def _work(self, side: str, setting: Setting, measure: str = "run") -> dict[str, Any]:
        wanted = {
            "side": side,
            "kind": setting.kind,
            "count": setting.count,
            "sessions": setting.sessions,
            "durable": setting.durable,
            "folder": str(self.folder / "data"),
            "seconds": self.seconds,
            "measure": measure,
        }
        return self._run(wanted)

    def _run(self, wanted: dict[str, Any]) -> dict[str, Any]:
        done = subprocess.run(
            [self.python, "-m", "tests.benchmarks.session_worker", json.dumps(wanted)],
            cwd=PROJECT, env=environment(self.folder), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{wanted} failed:\n{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def made_environment(folder: Path) -> str:
    """Make an environment with the peer and return its interpreter; "" where there is no Python for it."""
    python = folder / "definable" / "bin" / "python"
    if not python.exists():
        newer = [sys.executable] if sys.version_info >= (3, 12) else []
        newer += [found for name in ("3.12", "3.13", "3.14") if (found := shutil.which(f"python{name}"))]
        for base in newer:
            if subprocess.run([base, "-m", "venv", str(python.parents[1])], check=False).returncode == 0:
                break
        else:
            return ""
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PEER, "orjson"], check=True)
    return str(python)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "memwb-benchmark"
    parser.add_argument("--quick", action="store_true", help="one short round, and no more than 10,000 entries")
    parser.add_argument("--only", nargs="+", default=[], metavar="KIND", help="memory, sqlite, files, imports")
    parser.add_argument("--folder", type=Path, default=cache, help=f"environments and data are kept here ({cache})")
    parser.add_argument("--rounds", type=int, default=0, help="how often each side is measured (default 3)")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with Definable and orjson; '' for none")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the rows with a limit between its marks")
    given = parser.parse_args()
    peer = made_environment(given.folder) if given.peer is None else given.peer
    benchmark = Benchmark(given, peer)
    benchmark.run(given.only)
    version = subprocess.run([benchmark.python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    note = (
        f"Medians of CPU time, of SQLite's writes of wall time; each side in processes of its own and in turns "
        f"({counted(benchmark.rounds, 'round')}), with {version}. Peer: {PEER if peer else 'none'}."
    )
    print(table.plain(benchmark.rows), note, sep="\n\n")
    if given.markdown:
        table.write(given.markdown, f"{table.markdown([each for each in benchmark.rows if each.held])}\n\n{note}", MARK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
