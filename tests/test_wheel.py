"""What a user gets who installs memwb: the wheel is built once, offline, and opened."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import memwb

pytest.importorskip("build", reason="The wheel is built with `build`, of the extra `test`.")

PROJECT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive and the wheel that was built from it; nothing is downloaded."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(PROJECT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def names(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def about(wheel: zipfile.ZipFile) -> Message:
    return Parser().parsestr(wheel.read(f"memwb-{memwb.__version__}.dist-info/METADATA").decode())


def package_files() -> set[str]:
    """Return what stands in the package's folder, but for what Python writes there and the sources of bundles."""
    return {
        path.relative_to(PROJECT).as_posix()
        for path in (PROJECT / "memwb").rglob("*")
        if path.is_file() and not {"__pycache__", "js"} & set(path.parts)
    }


def test_it_holds_the_package_and_nothing_else(names):
    assert names == package_files()


def test_it_tells_type_checkers_that_memwb_is_typed(names):
    assert "memwb/py.typed" in names


def test_it_holds_the_shipped_data_with_licence_and_attribution(names):
    for dataset in ("ikat-demo", "memorybank-en"):
        assert {f"memwb/datasets/{dataset}/{file}" for file in ("ATTRIBUTION.md", "LICENSE", "data.json")} <= names


def test_it_holds_what_the_widgets_load_in_the_browser(names):
    assert {Path(name).suffix for name in names if name.startswith("memwb/widgets/static/")} >= {".js", ".css"}


def test_it_holds_no_sources_of_bundles_no_tests_and_no_notebooks(names):
    assert {name for name in names if not name.startswith("memwb/") or "/js/" in name or "test_" in name} == set()


def test_it_needs_what_the_project_names_and_a_python_from_3_11(about):
    needed = [text for text in about.get_all("Requires-Dist", []) if "extra ==" not in text]

    assert {text.partition(">=")[0] for text in needed} == {"anywidget", "ipywidgets", "orjson", "pandas"}
    assert all(">=" in text for text in needed)
    assert about["Requires-Python"] == ">=3.11"


def test_it_carries_its_licence(wheel, about):
    assert about["License-Expression"] == "MIT"
    assert b"The memwb authors" in wheel.read(f"memwb-{memwb.__version__}.dist-info/licenses/LICENSE")


def test_it_works_from_the_archive_itself(built, tmp_path):
    (path,) = built.glob("*.whl")
    code = "import sys; sys.path.insert(0, sys.argv[1]); import memwb; print(memwb.__file__)"

    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout.startswith(str(path))


def test_the_source_archive_holds_all_that_is_tested(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}

    assert {"README.md", "CHANGELOG.md", "LICENSE", "tests/test_wheel.py", "notebooks/nbval_sanitize.cfg"} <= held


def test_it_brings_the_command(wheel: zipfile.ZipFile) -> None:
    entry_points = wheel.read(f"memwb-{memwb.__version__}.dist-info/entry_points.txt").decode()
    assert entry_points.split("\n") == ["[console_scripts]", "memwb = memwb.cli:main", ""]
