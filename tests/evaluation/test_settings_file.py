"""Settings in a file: what an export writes is read back, and what is wrong with a file is told at its line."""

from __future__ import annotations

import pytest

from memwb.errors import ConfigError, DamagedFileError
from memwb.evaluation.settings_file import load_settings
from memwb.memory import MemoryManager
from memwb.stores import TestMemoryStore
from memwb.workbench import WorkbenchState


@pytest.fixture
def written(tmp_path):
    """Write a module and return its path."""

    def write(text, name="settings.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


async def test_what_an_export_writes_gives_a_manager_what_the_workbench_showed(tmp_path):
    store = TestMemoryStore.from_records(["I use a cane.", "I like jazz."], name="profile")
    state = WorkbenchState([store], "Do I use a cane?")
    await state.set(max_entries=1, placement="append", query=lambda context: "jazz")
    module = state.export(tmp_path / "agent_memory.py").module

    settings = load_settings(module)

    manager = MemoryManager([store], search_tool_config=False, injection=settings)
    trace = await manager.trace_injection(state.messages)
    assert trace.messages == state.trace.messages
    assert [entry.content for entry in trace.entries] == ["I like jazz."]


def test_injection_that_is_off_is_false_and_one_that_is_on_has_the_defaults(written):
    assert load_settings(written("injection = False")) is False
    assert load_settings(written("injection = None")) is False
    assert load_settings(written("injection = True")) == {}
    assert load_settings(written('PLACEMENT = "append"\ninjection = True')) == {"placement": "append"}
    given = 'PLACEMENT = "append"\ninjection = {"placement": "prepend"}'
    assert load_settings(written(given)) == {"placement": "prepend"}


def test_each_file_is_run_in_a_namespace_of_its_own_and_leaves_nothing_behind(written, tmp_path):
    source = "LIMIT = {}\ndef query(context):\n    return LIMIT\ninjection = {{'query': query}}"
    one, two = (load_settings(written(source.format(limit), f"{limit}.py")) for limit in (1, 2))

    assert (one["query"](None), two["query"](None)) == (1, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.py", "2.py"]


def test_a_file_that_changes_within_the_clocks_step_is_read_anew(written):
    assert load_settings(written("injection = {'max_entries': 1}")) == {"max_entries": 1}
    assert load_settings(written("injection = {'max_entries': 2}")) == {"max_entries": 2}


@pytest.mark.parametrize(
    ("text", "place", "cause"),
    [
        ("injection = {\n", "line 1", "SyntaxError: '{' was never closed"),
        ("import math\n\ninjection = {'max_entries': five}\n", "line 3", "NameError: name 'five' is not defined"),
        ("def f():\n    return 1 / 0\n\ninjection = f()\n", "line 2", "ZeroDivisionError: division by zero"),
        ("import json\ninjection = json.loads('')\n", "line 2", "JSONDecodeError: Expecting value: line 1 column 1"),
        ("raise SystemExit(3)\n", "line 1", "SystemExit: 3"),
        ("injektion = {}\n", "", "it assigns no 'injection', the settings. Did you mean 'injektion'?"),
    ],
)
def test_what_stops_a_file_is_told_with_its_line(written, text, place, cause):
    with pytest.raises(DamagedFileError) as caught:
        load_settings(written(text))

    assert (caught.value.place, caught.value.cause[: len(cause)]) == (place, cause)


def test_a_setting_that_no_manager_takes_is_refused_with_the_file_and_the_nearest_key(written):
    path = written("injection = {'max_entires': 3}")
    with pytest.raises(ConfigError, match=r"settings\.py: injection has no key 'max_entires'.*'max_entries'\?"):
        load_settings(path)
    with pytest.raises(ConfigError, match="'placement' is 'before'; it takes 'prepend' or 'append'"):
        load_settings(written("PLACEMENT = 'before'\ninjection = {}"))


def test_a_file_that_is_not_there_is_told_with_its_path(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The settings .*none\.py cannot be read: it does not exist\."):
        load_settings(tmp_path / "none.py")
