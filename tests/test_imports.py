"""What importing memwb costs, seen in an interpreter of its own, and the names that `memwb` offers."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module, metadata

import pytest

import memwb
import memwb.memory

REPORT = """
import sys
before = set(sys.modules)
{statement}
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}}), sep="\\n")
"""


def loaded_by(statement: str) -> set[str]:
    """Run the statement in a new interpreter, and return the top-level modules that it loaded."""
    command = [sys.executable, "-W", "error", "-c", REPORT.format(statement=statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("lineage", ["memory", "sessions"])
def test_each_kind_of_memory_loads_the_standard_library_and_orjson_alone(lineage):
    loaded = loaded_by(f"import memwb.{lineage}")

    assert loaded - set(sys.stdlib_module_names) <= {"memwb", "orjson"}
    assert loaded & {"asyncio", "pandas", "ipywidgets", "IPython", "http", "concurrent", "sqlite3"} == set()


def test_memory_offers_what_explains_an_injection_and_loads_it_when_it_is_first_used():
    loaded_by(
        "import memwb.memory; assert set(memwb.memory.__all__) <= set(dir(memwb.memory)); "
        "assert 'memwb.memory.explain' not in sys.modules; "
        "assert memwb.memory.Explanation is __import__('memwb.memory.explain', fromlist=['x']).Explanation"
    )
    with pytest.raises(AttributeError, match=r"module 'memwb.memory' has no attribute 'Explanaton'"):
        memwb.memory.Explanaton  # noqa: B018 - reading it is what is tested


def test_a_manager_without_extraction_loads_nothing_of_it_but_its_types():
    loaded_by(
        "import sys; from memwb.memory import MemoryManager; from memwb.stores import TestMemoryStore; "
        "store = TestMemoryStore(name='notes', persist=False); MemoryManager([store]); "
        "parts = ('coordinator', 'saving', 'happenings', 'log', 'model_extractor'); "
        "assert not [part for part in parts if 'memwb.memory.extraction.' + part in sys.modules]; "
        "from memwb.memory import ExtractionLog, ModelExtractor, Saved"
    )


def test_memwb_itself_loads_nothing_but_the_standard_library():
    loaded = loaded_by("import memwb")

    assert loaded - set(sys.stdlib_module_names) == {"memwb"}
    assert loaded & {"asyncio", "logging", "json", "inspect"} == set()


def test_a_store_loads_no_widget_and_no_frame():
    loaded = loaded_by("from memwb import TestMemoryStore, MemoryManager, datasets, testing")

    assert loaded & {"pandas", "ipywidgets", "pytest"} == set()


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("MemoryManager", "memwb.memory"),
        ("TestMemoryStore", "memwb.stores"),
        ("Workbench", "memwb.widgets"),
        ("evaluate", "memwb.evaluation"),
        ("frame", "memwb.frames"),
        ("text", "memwb.memory.messages"),
    ],
)
def test_a_name_of_the_face_is_the_one_of_its_home(name, home):
    assert getattr(memwb, name) is getattr(import_module(home), name)


@pytest.mark.parametrize("name", ["callbacks", "datasets", "sessions", "testing"])
def test_a_module_of_the_face_is_loaded_when_it_is_first_used(name):
    loaded_by(
        f"import memwb; assert 'memwb.{name}' not in sys.modules; "
        f"assert memwb.{name} is sys.modules['memwb.{name}']; from memwb import {name}"
    )


def test_tab_completion_offers_the_whole_face():
    assert set(memwb.__all__) <= set(dir(memwb))


def test_star_import_gives_the_face():
    names: dict[str, object] = {}
    exec("from memwb import *", names)

    assert {name for name in names if name != "__builtins__"} == set(memwb.__all__)


def test_a_misspelt_name_is_refused_with_the_nearest_one():
    with pytest.raises(AttributeError, match=r"no attribute 'Workbnch'.* Did you mean 'Workbench'\?") as caught:
        memwb.Workbnch  # noqa: B018 - reading it is what is tested

    assert caught.value.name == "Workbnch"


def test_a_name_that_tools_ask_for_is_refused_plainly():
    assert not hasattr(memwb, "__wrapped__")


def test_the_version_is_the_installed_one():
    assert memwb.__version__ == metadata.version("memwb")
