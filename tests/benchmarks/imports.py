"""What the import of a name costs, in an interpreter that has imported nothing else."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HEAVY = ("asyncio", "numpy", "pandas", "ipywidgets", "IPython")

CODE = """
import sys, time
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
modules, megabytes, begin = set(sys.modules), resident(), time.process_time()
from {module} import {name}
cpu = (time.process_time() - begin) * 1e3
loaded = set(sys.modules) - modules
heavy = [name for name in {heavy!r} if name in loaded]
print("\\n" + __import__("json").dumps(dict(cpu=cpu, modules=len(loaded), mb=resident() - megabytes, heavy=heavy)))
"""


def importing(python: str, module: str, name: str, cwd: Path, env: Mapping[str, str], rounds: int) -> dict[str, Any]:
    """Return the median CPU time in ms, the number of modules, MB, and which heavy packages were loaded."""
    code = CODE.format(module=module, name=name, heavy=HEAVY)
    found = []
    for _ in range(rounds + 1):  # the first one compiles
        done = subprocess.run([python, "-c", code], cwd=cwd, env=env, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {
        "cpu": statistics.median(one["cpu"] for one in found[1:]),
        "modules": found[1]["modules"],
        "mb": statistics.median(one["mb"] for one in found[1:]),
        "heavy": found[1]["heavy"],
    }
