"""The packages of the bundles' lock file, installed anew: what the bundles are built with, and what checks the page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "memwb" / "widgets" / "js"


def installed(folder: Path) -> Path:
    """Return a copy of the bundles' sources under ``folder``, with their packages; offline, skip the test."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("This takes node and npm; memwb itself does not need them.")
    copy = folder / "js"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("node_modules"))
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", f"--cache={folder / 'cache'}"]
    install += ["--fetch-retries=0", "--fetch-timeout=20000"]
    try:
        done = subprocess.run(install, cwd=copy, capture_output=True, text=True, check=False, timeout=150)
    except subprocess.TimeoutExpired:
        pytest.skip("The bundles' packages could not be fetched in time: offline?")
    if done.returncode and re.search("ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|ERR_SOCKET|network", done.stderr):
        pytest.skip("The bundles' packages could not be fetched: offline?")
    assert done.returncode == 0, done.stderr
    return copy
