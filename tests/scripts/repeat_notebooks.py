"""Run the notebooks' tests many times, each time as another person on another machine, and print a table.

    python -m tests.scripts.repeat_notebooks [--runs 20] [notebooks/01_quickstart.ipynb ...]

Each run has another PYTHONHASHSEED, time zone, locale and home folder. Outputs that depend on one of them differ from
what the notebook holds, and fail. This takes minutes, and is run by hand, not by `pytest` or .ci/run. The exit code is
1 when a run failed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import astuple, dataclass
from pathlib import Path

from tests.jupyter_env import folders, without_jupyter

PROJECT = Path(__file__).parents[2]
TIME_ZONES = ["UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati", "Europe/Berlin", "Pacific/Marquesas"]
LOCALES = ["C.UTF-8", "C", "POSIX", "de_DE.UTF-8", "tr_TR.UTF-8"]
HOMES = ["home", "a home with spaces", "zuhause-ü", "deeply/nested/home", ".hidden", "家"]


@dataclass(frozen=True)
class Setting:
    """What differs from run to run."""

    hash_seed: int
    time_zone: str
    locale: str
    home: str

    @classmethod
    def of_run(cls, number: int) -> Setting:
        """Return the setting of a run; any thirty runs in a row are all different in more than the seed."""
        return cls(
            hash_seed=1000 + 7919 * number,
            time_zone=TIME_ZONES[number % len(TIME_ZONES)],
            locale=LOCALES[number % len(LOCALES)],
            home=HOMES[(number // 2) % len(HOMES)],
        )

    def environment(self, base: Path) -> dict[str, str]:
        """Return the environment of a run whose home folder lies under ``base``."""
        home = base / self.home
        home.mkdir(parents=True)
        kept = {k: v for k, v in without_jupyter(dict(os.environ)).items() if not k.startswith(("LC_", "LANG"))}
        return (
            kept
            | folders(base / "jupyter")
            | {
                "HOME": str(home),
                "LANG": self.locale,
                "LC_ALL": self.locale,
                "PYTHONHASHSEED": str(self.hash_seed),
                "TZ": self.time_zone,
            }
        )


def run(notebooks: list[str], setting: Setting) -> tuple[int, str, float]:
    """Test the notebooks once, and return pytest's exit code, its output and the seconds it took."""
    command = [sys.executable, "-m", "pytest", "-q", "--color=no", *notebooks]
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="memwb-repeat-") as base:
        done = subprocess.run(
            command, cwd=PROJECT, env=setting.environment(Path(base)), capture_output=True, text=True, check=False
        )
    return done.returncode, done.stdout + done.stderr, time.perf_counter() - begin


def counted(output: str) -> str:
    """Return pytest's own count, such as ``14 passed``."""
    found = re.findall(r"^(.*\b(?:passed|failed|error|errors)\b.*) in [\d.]+s", output, flags=re.MULTILINE)
    return found[-1].strip("= ") if found else "no count"


def main() -> int:
    """Run, print a line as each run ends, and the output of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", default=["notebooks"], help="left out: all of notebooks/")
    parser.add_argument("--runs", type=int, default=20, help="how often (default 20)")
    arguments = parser.parse_args()
    failures = []
    row = "{:>3}  {:>9}  {:<19} {:<12} {:<19} {:>6}  {}"
    print(row.format("run", "hash seed", "time zone", "locale", "home", "s", "result"))
    for number in range(arguments.runs):
        setting = Setting.of_run(number)
        code, output, seconds = run(arguments.notebooks, setting)
        if code:
            failures.append((number, output))
        result = counted(output) + (f", exit code {code}" if code else "")
        print(row.format(number + 1, *astuple(setting), f"{seconds:.1f}", result), flush=True)
    for number, output in failures:
        print(f"\nRun {number + 1}:\n{output}")
    print(f"\n{arguments.runs - len(failures)} of {arguments.runs} runs passed.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
