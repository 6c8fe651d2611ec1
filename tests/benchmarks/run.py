"""How fast memwb is beside its peers: measure, print a table, and write it into a Markdown file on request.

    python tests/benchmarks/run.py [--quick] [--only search inject] [--markdown README.md]

The peers are the Strands SDK in version 1.48.0 and in its newest one, and pandas. Times are CPU time of the process,
medians; each side is measured in processes of its own, in turns, so that ratios hold although the machine is busy.
Figures of the kernel are wall time. Nothing here is a test: the exit code is 0 however fast memwb was.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from memwb._text import counted  # noqa: E402
from tests.benchmarks import imports, kernel, table  # noqa: E402
from tests.benchmarks.limits import FIGURES, Case, Figure, Limit, most, number, ratio  # noqa: E402
from tests.benchmarks.table import Row  # noqa: E402

OLDEST = "1.48.0"
KERNELS = 3
"""How many kernels a figure of the kernel is the median of."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that measures one side.

    Attributes:
        python: Its path.
        side: memwb or strands.
    """

    python: str
    side: str


@dataclass
class Runner:
    """Starts the processes that measure.

    Attributes:
        folder: Where data and bytecode are kept from run to run.
        peers: The interpreters with the Strands SDK, the one that ratios are made with first.
        rounds: How often each side is measured, in turns.
        seconds: How long each time.
    """

    folder: Path
    peers: list[str]
    rounds: int
    seconds: float

    def measure(self, figure: Figure, case: Case) -> list[list[dict[str, Any]]]:
        """Return what the sides measured in each round: memwb first, then the peers."""
        sides = [Interpreter(sys.executable, "memwb")]
        if figure.peer == "strands":
            sides += [Interpreter(python, "strands") for python in self.peers]
        elif figure.peer == "pandas":
            sides.append(Interpreter(sys.executable, "pandas"))
        found: list[list[dict[str, Any]]] = [[] for _ in sides]
        for _ in range(self.rounds * 3 if figure.once and case.count < 100_000 else self.rounds):
            for at, side in enumerate(sides):
                found[at].append(self._work(side, figure, case))
        return found

    def _work(self, side: Interpreter, figure: Figure, case: Case) -> dict[str, Any]:
        wanted = {
            "side": side.side,
            "figure": figure.measure,
            "count": case.count,
            "stores": case.stores,
            "seconds": self.seconds,
            "folder": str(self.folder / "data"),
        }
        command = [side.python, "-m", "tests.benchmarks.worker", json.dumps(wanted)]
        done = subprocess.run(
            command, cwd=PROJECT, env=environment(self.folder), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{figure.measure} of {side} failed:\n{done.stderr}")
        return json.loads(done.stdout)  # type: ignore[no-any-return]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a process that measures: with compiled bytecode, as an installed package has it."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def typical(found: list[dict[str, Any]]) -> float:
    """Return the median over the rounds of each round's median."""
    return statistics.median(statistics.median(one["values"]) for one in found)


def row(
    label: str, size: str, unit: str, own: float, peers: list[float], must: Limit, stretch: Limit, note: str = ""
) -> Row:
    """Return a row of the table; the ratio is over the first of the peers."""
    held = must.holds(own, peers[0] if peers else None)
    first, newest = [*(f"{note}{number(peer)}" for peer in peers), "", ""][:2]
    return Row(
        f"{label}, {unit}" if unit else label,
        size,
        first,
        newest,
        number(own),
        f"{note}{number(peers[0] / own)} x" if peers else "",
        str(must),
        str(stretch),
        "" if held is None else "yes" if held else "**no**",
    )


class Benchmark:
    """Measures figure after figure and gathers the rows of the table."""

    def __init__(self, runner: Runner, quick: bool) -> None:
        self.runner, self.quick = runner, quick
        self.rows: list[Row] = []
        self.loads: list[float] = []  # of the machine, when a kernel was measured
        self._typical: dict[tuple[str, int, int], list[float]] = {}

    def run(self, only: list[str]) -> None:
        """Measure what is wanted: the figures of these names, or all."""
        for figure in FIGURES:
            if only and figure.measure not in only:
                continue
            for case in figure.cases:
                if not self.quick or case.count <= 10_000:
                    self._figure(figure, case)
        if not only or "imports" in only:
            self._imports()
        if not only or "kernel" in only:
            self._kernel()

    def _figure(self, figure: Figure, case: Case) -> None:
        self._tell(figure.label, case.size)
        estimated = figure.measure == "add_all" and case.count > 1000  # the peers would take hours
        measured = replace(figure, peer="") if estimated else figure
        found = self.runner.measure(measured, case)
        own, *peers = self._typical[figure.measure, case.count, case.stores] = [typical(one) for one in found]
        if estimated:  # each add takes as long as the entries that are there before it ask for
            peers = [count * case.count / 2 for count in self._typical.get(("add", case.count, 1), [])[1:]]
        note = "~" if estimated and peers else ""
        self.rows.append(row(figure.label, case.size, figure.unit, own, peers, case.must, case.stretch, note))
        spreads = [one["extra"]["p95/p50"] for one in found[0] if "p95/p50" in one["extra"]]
        if spreads:
            spread = statistics.median(spreads)
            self.rows.append(row(f"{figure.label}: p95 / p50", case.size, "", spread, [], most(3), Limit()))
        if figure.measure == "inject":
            self._trace(case)

    def _trace(self, case: Case) -> None:
        found = self.runner.measure(Figure("trace_injection", "", (case,), peer=""), case)[0]
        share = statistics.median(one["extra"]["trace/inject"] for one in found)
        self.rows.append(row("trace with hits and notes / inject", case.size, "", share, [], most(2), Limit()))

    def _imports(self) -> None:
        store = "strands.vended_memory_stores.test_memory_store"
        for own, theirs, name in (
            ("memwb.memory", "strands.memory", "MemoryManager"),
            ("memwb.stores", store, "TestMemoryStore"),
        ):
            self._tell("import", own)
            given = (PROJECT, environment(self.runner.folder), 7 * self.runner.rounds)
            peers = [imports.importing(python, theirs, name, *given) for python in self.runner.peers]
            found = imports.importing(sys.executable, own, name, *given)
            times = [peer["cpu"] for peer in peers]
            self.rows += [
                row(f"import {own}", "", "ms", found["cpu"], times, ratio(8), most(40)),
                row(f"import {own}: memory", "", "MB", found["mb"], [peer["mb"] for peer in peers], most(14), Limit()),
                row(
                    f"import {own}: modules",
                    "",
                    "",
                    found["modules"],
                    [peer["modules"] for peer in peers],
                    Limit(),
                    Limit(),
                ),
                row(f"import {own}: heavy packages", "", "", len(found["heavy"]), [], most(0), Limit()),
            ]

    def _kernel(self) -> None:
        sizes = ((10_000, 1), (10_000, 8)) if self.quick else ((10_000, 1), (100_000, 1), (10_000, 8))
        for count, stores in sizes:
            for shown in (False, True):
                what = "setting -> page" if shown else "setting -> preview"
                case = Case(count, stores=stores)
                self._tell(what, case.size)
                found = self._kernels(count, stores, shown)
                for label, value, bound in (
                    ("round trip over no-op's", found["change"] - found["nothing"], most(2)),
                    ("round trip, p95", found["p95"], most(10)),
                    ("inside", found["inside"], most(1)),
                    ("inside, over a task that does nothing", found["inside"] - found["later"], most(1)),
                    ("ten at once, to the last", found["ten"], most(40)),
                ):
                    known = Limit() if shown else bound
                    must, stretch = (known, Limit()) if (count, stores) == (10_000, 1) else (Limit(), known)
                    self.rows.append(row(f"{what}: {label}, wall", case.size, "ms", value, [], must, stretch))
                self.rows.append(row(f"{what}: inside, CPU", case.size, "ms", found["cpu"], [], Limit(), Limit()))

    def _kernels(self, count: int, stores: int, shown: bool) -> dict[str, float]:
        """Return the medians of several kernels, one after the other."""
        runs = []
        for _ in range(KERNELS):
            self.loads.append(os.getloadavg()[0])
            runs.append(kernel.measured(self.runner.folder / "data", count, stores, 60, shown).to_json())
        return {key: statistics.median(run[key] for run in runs) for key in runs[0]}

    def _tell(self, label: str, size: str) -> None:
        print(f"{label}, {size} ...", file=sys.stderr, flush=True)


def made_environments(folder: Path) -> list[str]:
    """Make, or bring up to date, an environment for each version of the SDK and return their interpreters."""
    pythons = []
    for name, requirement in ((OLDEST, f"strands-agents=={OLDEST}"), ("newest", "strands-agents")):
        place = folder / f"strands-{name}"
        python = str(place / "bin" / "python")
        if not Path(python).exists():
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--upgrade", requirement], check=True)
        pythons.append(python)
    return pythons


def about(runner: Runner, peers: list[str], loads: list[float]) -> str:
    """Return what was measured where, for the line below the table."""
    versions = []
    for python in peers:
        code = "from importlib.metadata import version; print(version('strands-agents'))"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
        versions.append(done.stdout.strip())
    python = ".".join(map(str, sys.version_info[:3]))
    kernels = ""
    if loads:
        kernels = (
            f"; kernel: wall time, medians of {counted(KERNELS, 'kernel')}, while the machine's load was "
            f"{min(loads):.1f} to {max(loads):.1f} on {counted(os.cpu_count() or 1, 'core')}"
        )
    return (
        f"Medians of CPU time, each side in processes of its own and in turns ({counted(runner.rounds, 'round')}), "
        f"with Python {python}{kernels}. "
        f"Peer: strands-agents {versions[0]}" + "".join(f", newest {version}" for version in versions[1:]) + "; "
        "of frames, pages and filters: pandas. ~: estimated from single adds."
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "memwb-benchmark"
    parser.add_argument("--quick", action="store_true", help="one short round, and no more than 10,000 entries")
    parser.add_argument("--only", nargs="+", default=[], metavar="FIGURE", help="names of figures; imports, kernel")
    parser.add_argument("--folder", type=Path, default=cache, help=f"environments and data are kept here ({cache})")
    parser.add_argument("--peer", action="append", default=[], metavar="PYTHON", help=(
        "an interpreter with strands-agents, instead of an environment made for it; 1.48.0 first"))  # fmt: skip
    parser.add_argument("--rounds", type=int, default=0, help="how often each side is measured (default 3)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help=(
        f"write the rows with a limit between the marks {table.BEGIN} and {table.END}"))  # fmt: skip
    given = parser.parse_args()
    peers = given.peer or made_environments(given.folder)
    rounds = given.rounds or (1 if given.quick else 3)
    runner = Runner(given.folder.resolve(), peers, rounds, 0.5 if given.quick else 2.0)
    benchmark = Benchmark(runner, given.quick)
    benchmark.run(given.only)
    note = about(runner, peers, benchmark.loads)
    print(table.plain(benchmark.rows), note, sep="\n\n")
    if given.markdown:
        bound = [row for row in benchmark.rows if row.must]
        table.write(given.markdown, f"{table.markdown(bound)}\n\n{note}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
