"""Interrupts `memwb update` at any moment: the folder is as it was, or wholly renewed, and nothing is left beside it.

python tests/scripts/interrupt_update.py [ROUNDS]
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PROJECT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "memwb", *map(str, arguments)]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        made, folder = Path(name, "made"), Path(name, "here", "cases")
        folder.parent.mkdir()
        subprocess.run(command("new-regression", made), env=ENVIRONMENT, check=True, capture_output=True)
        (made / "settings" / "default.py").write_text("injection = {'max_entries': 2}\n")
        old = files(made)
        shutil.copytree(made, folder)
        begin = time.perf_counter()
        subprocess.run(command("update", folder), env=ENVIRONMENT, check=True, capture_output=True)
        seconds, new = time.perf_counter() - begin, files(folder)
        seen: Counter[str] = Counter()
        for _ in range(rounds):
            shutil.rmtree(folder)
            shutil.copytree(made, folder)
            process = subprocess.Popen(
                command("update", folder), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(random.uniform(0.05, 1.2 * seconds))
            process.send_signal(signal.SIGINT)
            code = process.wait(120)
            now = files(folder)
            state = "as it was" if now == old else "renewed" if now == new else "HALF"
            left = [path.name for path in folder.parent.iterdir() if path != folder]
            seen[f"{state}, exit code {code}{', left: ' + str(left) if left else ''}"] += 1
        for what, many in seen.most_common():
            print(f"{many:4d} x {what}")
        if any(what.startswith("HALF") or "left" in what for what in seen):
            sys.exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
