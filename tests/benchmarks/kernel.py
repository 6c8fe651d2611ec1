"""From a change of the settings to its preview, in a real kernel: wall time, beside a handler that does nothing.

Messages go the way of a page's: by a comm, over the kernel's shell channel, and answers come back on iopub.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks import data
from tests.jupyter_env import folders, without_jupyter

PROJECT = Path(__file__).parents[2]
PATIENCE = 60.0

SET_UP = """
import asyncio, sys
from time import perf_counter, thread_time
sys.path.insert(0, {project!r})
from memwb.stores import TestMemoryStore
{imports}
stores = [TestMemoryStore(name=f"memories-{{at}}", path=path) for at, path in enumerate({paths!r})]
{make}
await shown
state = getattr(shown, "state", shown)

def nothing(comm, opened):
    comm.on_msg(lambda message: comm.send({{"done": message["content"]["data"]["n"]}}))

def later(comm, opened):
    loop = asyncio.get_running_loop()
    async def answer(n, begun):
        comm.send({{"done": n, "inside": perf_counter() - begun}})
    def received(message):
        task = answer(message["content"]["data"]["n"], perf_counter())
        loop.call_soon_threadsafe(loop.create_task, task)
    comm.on_msg(received)

def change(comm, opened):
    begun = {{}}
    def told():
        if not state.pending and state.settings.max_entries in begun:
            n = state.settings.max_entries
            wall, cpu = begun.pop(n)
            comm.send({{"done": n, "inside": perf_counter() - wall, "cpu": thread_time() - cpu}})
    def received(message):
        n = message["content"]["data"]["n"]
        begun[n] = perf_counter(), thread_time()
        state.put(max_entries=n)
    comm.on_msg(received)
    state.subscribe(told)

for target in (nothing, later, change):
    get_ipython().kernel.comm_manager.register_target(target.__name__, target)
"""

HEADLESS = {
    "imports": "from memwb.workbench import WorkbenchState",
    "make": "class Settled(WorkbenchState):\n    def __await__(self):\n        return self.settled().__await__()\n"
    "shown = Settled(stores, {query!r})",
}
SHOWN = {"imports": "from memwb.widgets import Workbench", "make": "shown = Workbench(stores, {query!r})"}


@dataclass(frozen=True)
class Times:
    """What was measured, in milliseconds.

    Attributes:
        nothing: Round trips to a handler that does nothing.
        later: What passes in the kernel from a message until a task that it asks for runs: what ipykernel itself takes.
        change: Round trips of a change, until its preview is there.
        inside: What of them passed inside the kernel.
        cpu: The CPU time in there.
        ten: Ten changes at once, until the preview of the last is there.
    """

    nothing: list[float]
    later: list[float]
    change: list[float]
    inside: list[float]
    cpu: list[float]
    ten: list[float]

    def to_json(self) -> dict[str, float]:
        """Return medians, and where it matters the 95th percentile."""
        return {
            "nothing": statistics.median(self.nothing),
            "later": statistics.median(self.later),
            "change": statistics.median(self.change),
            "p95": statistics.quantiles(self.change, n=20)[-1],
            "inside": statistics.median(self.inside),
            "cpu": statistics.median(self.cpu),
            "ten": statistics.median(self.ten),
        }


class _Kernel:
    """A kernel and a client of it."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, code: str) -> None:
        """Run code, and raise what it raises."""
        reply = self._client.execute_interactive(code, timeout=PATIENCE, output_hook=lambda _: None)
        if reply["content"]["status"] != "ok":
            raise RuntimeError("\n".join(reply["content"]["traceback"]))

    def open(self, target: str) -> None:
        """Open the comm of a target; it has the target's name."""
        self._send("comm_open", {"comm_id": target, "target_name": target, "data": {}})

    def ask(self, comm: str, *numbers: int) -> tuple[float, dict[str, float]]:
        """Send the numbers at once and wait for the answer to the last; return the milliseconds and the answer."""
        begin = time.perf_counter()
        for number in numbers:
            self._send("comm_msg", {"comm_id": comm, "data": {"n": number}})
        while True:
            message = self._client.get_iopub_msg(timeout=PATIENCE)
            content = message["content"]
            mine = message["msg_type"] == "comm_msg" and content["comm_id"] == comm
            if mine and content["data"]["done"] == numbers[-1]:
                return (time.perf_counter() - begin) * 1e3, content["data"]

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        self._client.shell_channel.send(self._client.session.msg(kind, content))


@contextmanager
def _kernel() -> Iterator[_Kernel]:
    from jupyter_client.manager import KernelManager

    with tempfile.TemporaryDirectory(prefix="memwb-benchmark-") as base:
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env={**without_jupyter(dict(os.environ)), **folders(Path(base))}, cwd=base)
        client = manager.client()
        try:
            client.start_channels()
            client.wait_for_ready(timeout=PATIENCE)
            yield _Kernel(client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def measured(folder: Path, count: int, stores: int, rounds: int, shown: bool) -> Times:
    """Measure changes of ``max_entries`` in a workbench over stores with ``count`` entries each.

    Args:
        folder: Where the data files lie.
        count: The number of entries in a store.
        stores: The number of stores.
        rounds: How many changes are made one after the other.
        shown: Whether the workbench draws its page; else it is the state alone.
    """
    parts = SHOWN if shown else HEADLESS
    query = data.queries(1)[0]
    paths = [str(data.file(folder, count, seed)) for seed in range(stores)]
    code = SET_UP.format(
        project=str(PROJECT), paths=paths, imports=parts["imports"], make=parts["make"].format(query=query)
    )
    with _kernel() as kernel:
        kernel.run(code)
        for target in ("nothing", "later", "change"):
            kernel.open(target)
            for number in range(5):
                kernel.ask(target, 20 + number)
        nothing = [kernel.ask("nothing", 3 + number % 7)[0] for number in range(rounds)]
        later = [kernel.ask("later", number)[1]["inside"] * 1e3 for number in range(rounds)]
        changes = [kernel.ask("change", 3 + number % 7) for number in range(rounds)]
        ten = [kernel.ask("change", *range(1, 11))[0] for _ in range(max(3, rounds // 10))]
    inside, cpu = ([answer[key] * 1e3 for _, answer in changes] for key in ("inside", "cpu"))
    return Times(nothing, later, [trip for trip, _ in changes], inside, cpu, ten)


if __name__ == "__main__":
    for shown in (False, True):
        print(shown, measured(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), 60, shown).to_json())
