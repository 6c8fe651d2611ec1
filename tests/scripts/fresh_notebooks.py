"""Install memwb as Binder does, into a new environment, and test all notebooks there, in another order each time.

    python -m tests.scripts.fresh_notebooks [--runs 10] [--wheel]

What is installed is ``binder/requirements.txt`` and nothing else, besides nbval and two plugins of pytest. pip builds
the wheel of the package from a copy of the project; the notebooks are run where the package's source is not: what they
import is the installed one. With ``--wheel`` the wheel is built first and installed by its file's name, as from an
index. The exit code is 1 when a run failed; .ci/run does one run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).parents[2]
BESIDE = ["pyproject.toml", "notebooks", "tests/__init__.py", "tests/jupyter_env.py"]
"""What testing the notebooks takes, without the package itself."""
TESTED_BY = ["nbval>=0.11", "pytest-randomly>=4.0", "pytest-timeout>=2.4"]


def command(*arguments: str | Path, cwd: Path = PROJECT) -> str:
    """Run a command and return what it printed; its output is shown when it fails."""
    done = subprocess.run([str(each) for each in arguments], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout + done.stderr)
        raise SystemExit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}")
    return done.stdout


def environment(folder: Path, *, wheel: bool) -> Path:
    """Make an environment that holds what Binder installs, and return its Python."""
    command(sys.executable, "-m", "venv", folder / "env")
    python = folder / "env" / "bin" / "python"
    if wheel:
        command(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "dist", ".")
        (built,) = (folder / "dist").glob("*.whl")
        command(python, "-m", "pip", "install", "--quiet", f"memwb[notebooks] @ {built.as_uri()}")
    else:
        command(python, "-m", "pip", "install", "--quiet", "-r", PROJECT / "binder" / "requirements.txt")
    command(python, "-m", "pip", "install", "--quiet", *TESTED_BY)
    return python


def lessons(folder: Path) -> Path:
    """Copy the notebooks and the settings of their tests to where the package's source is not."""
    place = folder / "lessons"
    for name in BESIDE:
        source, target = PROJECT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    return place


def main() -> int:
    """Install once, run as often as asked, print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, help="how often (default 1)")
    parser.add_argument("--wheel", action="store_true", help="install a wheel that was built before")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="memwb-fresh-") as base:
        begin = time.perf_counter()
        python, place = environment(Path(base), wheel=arguments.wheel), lessons(Path(base))
        found = command(python, "-c", "import memwb; print(memwb.__file__)", cwd=place).strip()
        if not found.startswith(str(python.parents[1])):
            raise SystemExit(f"memwb was imported from {found}, which is not the environment's")
        print(f"installed in {time.perf_counter() - begin:.0f} s: {Path(found).relative_to(base)}")
        for number in range(arguments.runs):
            begin = time.perf_counter()
            options = ["--color=no", "-p", "no:cacheprovider", "--randomly-seed", str(number)]
            done = subprocess.run(
                [python, "-m", "pytest", *options, "notebooks"], cwd=place, capture_output=True, text=True, check=False
            )
            order = list(dict.fromkeys(re.findall(r"^notebooks/(\d\d)", done.stdout, flags=re.MULTILINE)))
            counted = done.stdout.strip().splitlines()[-1].strip("= ")
            print(f"run {number + 1}, in the order {' '.join(order)}: {counted}", flush=True)
            if done.returncode:
                failed += 1
                print(done.stdout + done.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
