"""The bundles that the page loads: built from their sources, complete with licences, and quiet on the network."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.npm import SOURCES, installed

STATIC = Path(__file__).parents[1] / "memwb" / "widgets" / "static"
BUILT = ("editor.js", "grid.js", "LICENSES.txt")
LOCK = json.loads((SOURCES / "package-lock.json").read_text())["packages"]


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the bundles, built anew from a copy of the sources and the packages of the lock file."""
    folder = tmp_path_factory.mktemp("bundle")
    sources = installed(folder)
    build = ["node", "build.mjs", str(folder / "out")]
    subprocess.run(build, cwd=sources, check=True, timeout=60)
    return folder / "out"


def test_they_are_what_their_sources_give_byte_for_byte(rebuilt):
    differing = [name for name in BUILT if (rebuilt / name).read_bytes() != (STATIC / name).read_bytes()]

    assert differing == [], "run `npm ci && npm run build` in memwb/widgets/js and commit the result"


def test_the_lock_names_versions_and_checksums_but_no_registry():
    packages = {path: about for path, about in LOCK.items() if path}

    assert {path for path, about in packages.items() if not about["integrity"].startswith("sha512-")} == set()
    assert {path for path, about in packages.items() if "resolved" in about} == set()


def test_every_package_in_a_bundle_comes_with_its_licence():
    text = (STATIC / "LICENSES.txt").read_text()
    needed = {(path.removeprefix("node_modules/"), about["version"]) for path, about in LOCK.items()
              if path and not about.get("dev")}  # fmt: skip

    assert set(re.findall(r"^(\S+) (\S+) \(MIT\)$", text, re.MULTILINE)) == needed
    assert text.count("Permission is hereby granted, free of charge") == len(needed)


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.[jc]s*")), ids=lambda path: path.name)
def test_they_load_nothing_from_elsewhere(path):
    text = path.read_text()

    assert set(re.findall(r"https?://[^\"'`\s)]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"@import|(^|;)import\b|\bimport\(", text)


def test_the_editor_stays_below_450_kb_and_the_grid_below_32_kb():
    assert (STATIC / "editor.js").stat().st_size < 450_000
    assert (STATIC / "grid.js").stat().st_size + (STATIC / "grid.css").stat().st_size < 32_000
