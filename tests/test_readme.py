"""The README says how to run and to test memwb, in commands that are read out of it and run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import memwb

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
ABOUT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def section(heading: str) -> str:
    """Return what stands below a heading, up to the next."""
    return README.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def blocks(heading: str) -> list[str]:
    """Return the blocks of Python below a heading."""
    return re.findall(r"```python\n(.*?)```", section(heading), flags=re.DOTALL)


async def ran(heading: str, place: int = 0, **names: Any) -> dict[str, Any]:
    """Run a block below a heading as a cell, and return the names that it leaves."""
    names = {"memwb": memwb, **names}
    code = compile(blocks(heading)[place], "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, names)
    return names


def read_by_ci(*arguments: str) -> str:
    command = [sys.executable, str(PROJECT / ".ci" / "project.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("heading", "command"),
    [
        ("Run it", 'pip install -e ".[lab]" && jupyter lab notebooks/01_quickstart.ipynb'),
        ("Test it", 'pip install -e ".[test]" && pytest'),
    ],
)
def test_a_heading_holds_one_block_with_one_command(heading, command):
    assert README.count(f"\n## {heading}\n") == 1
    assert re.findall(r"```.*?\n(.*?)```", section(heading), flags=re.DOTALL) == [f"{command}\n"]
    assert read_by_ci("command", heading) == command


def test_the_introduction_takes_at_most_ten_lines():
    introduction = README.split("\n## ")[0].splitlines()

    text = [line for line in introduction if line and not line.startswith(("#", "!["))]
    assert 5 <= len(text) <= 10


async def test_the_example_of_extraction_runs(capsys):
    await ran("Memories that write themselves")

    assert "saved       notes messages 0-1: 'The user is allergic to latex.'" in capsys.readouterr().out


async def test_the_example_of_the_extraction_panel_runs():
    names = await ran("Watch memories being written")

    panel = names["panel"]
    assert [fact.state for fact in panel.state.facts] == ["written"]
    assert await names["store"].count() == 0
    panel.close()
    names["wb"].close()


async def test_the_example_of_a_real_agent_runs(tmp_path, monkeypatch):
    pytest.importorskip("strands", reason="The example runs an agent of the Strands SDK.")
    monkeypatch.chdir(tmp_path)
    names = await ran("In a real agent")

    assert [call.difference for call in names["calls"]] == [""]
    assert names["agent"].model.asked[0].messages == names["calls"][0].after
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent_memory.py", "test_agent_memory.py"]
    names["wb"].close()


async def test_the_example_of_a_conversation_runs():
    names = await ran("On your own memories", 1)

    wb = names["wb"]
    assert repr(wb.conversation) == "Conversation(4 messages; model call 2 of 2; 1 change can be undone)"
    assert repr(await wb.conversation.paste('[{"role": "user", "content": "Jazz?"}]')) in section(
        "On your own memories"
    )
    assert wb.state.agent_state == {"visits": 3}
    wb.close()


async def test_the_example_of_several_stores_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = await ran("Several stores, callbacks of your own")
    assert capsys.readouterr().out == "- A grab bar costs 30 EUR.\n"
    names["wb"].close()


async def test_the_example_of_recall_by_meaning_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime", reason="The example runs a model of the extra `minilm`.")
    monkeypatch.chdir(tmp_path)
    names = await ran("Recall by meaning")

    assert f"`{capsys.readouterr().out.strip()}`" in section("Recall by meaning")
    assert names["both"][0].content == "My cat is called Miso."
    names["wb"].close()


async def test_the_example_of_a_team_on_one_database_runs(postgres, monkeypatch, capsys):
    postgres.execute("CREATE DATABASE team")
    monkeypatch.setenv("PGHOST", str(postgres.folder))
    monkeypatch.setenv("PGUSER", "postgres")
    names = await ran("A team on one database")

    assert f"`{capsys.readouterr().out.strip()}`" in section("A team on one database")
    assert [entry.content for entry in names["found"]] == ["Moved to Oslo."]
    assert {hit.content for hit in names["wb"].trace.hits} == {"Allergic to latex.", "Likes green tea."}
    names["wb"].close()
    for name in ("team", "ann"):
        await names[name].close()


async def test_the_example_of_sessions_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = await ran("Agents' sessions")

    panel = names["panel"]
    assert repr(names["preview"]) == "SummaryPreview(2 pinned, 3 replaced, 5 kept; tokens 47 -> 38)"
    assert repr(panel) == "Sessions(1 session of 1 user; 'monday' of 'alice': 10 entries)"
    panel.close()
    names["wb"].close()
    await names["memory"].close()


async def test_the_example_of_an_evaluation_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    await ran("Which settings are better")

    assert (
        "+0.143 [+0.073, +0.214], 51 won, 17 lost, 91 tied (randomisation test, p < 0.001)" in capsys.readouterr().out
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.jsonl", "run.jsonl"]


async def test_the_example_of_a_guarded_folder_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = await ran("Guard it in CI")

    said = re.search(r"check\(\)  # (.*)", section("Guard it in CI"))
    assert said is not None
    first, second = repr(await names["folder"].check()).splitlines()
    assert first == said[1]
    assert f"# {second.partition(', ' + repr('2024-test/11/t9'))[0]}, ..." in section("Guard it in CI")


def test_it_shows_three_pictures():
    shown = ["notebooks/img/workbench.png", "notebooks/img/why.png", "notebooks/img/timeline.png"]
    assert re.findall(r"!\[.+?\]\((.+?)\)", README) == shown


def test_what_it_links_to_exists():
    targets = re.findall(r"\]\((?!https?:)(.+?)\)", README)

    assert [target for target in targets if not (PROJECT / target).exists()] == []


def test_the_table_gives_each_dependency_a_reason():
    rows = re.findall(r"^\| `([\w.-]+)` \| (.+?) \|$", section("What it is built on"), flags=re.MULTILINE)
    extras = ABOUT["optional-dependencies"]
    direct = [*ABOUT["dependencies"], *(requirement for extra in extras.values() for requirement in extra)]

    names = {re.split(r"[\[>=<! ]", requirement)[0] for requirement in direct}
    assert sorted(name for name, _ in rows) == sorted(names - {"memwb"})
    assert all(reason.strip() for _, reason in rows)


def test_the_lowest_versions_are_those_of_the_project():
    assert read_by_ci("lowest").splitlines() == [pin.replace(">=", "==") for pin in ABOUT["dependencies"]]


def test_the_changelog_opens_with_this_version():
    import memwb

    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## ([\d.]+)", changelog, flags=re.MULTILINE)[1] == memwb.__version__


async def test_the_example_of_why_runs(capsys):
    names = await ran("Why is it missing")

    shown = capsys.readouterr().out
    assert (
        "shares no word with the query: 'walnut' is not 'walnuts'.\n  try: add 'walnut' to the entry's text → rank 1"
        in shown
    )
    await names["wb"]
    assert names["wb"].trace.entries[0].content == "I love walnuts (walnut)"
    names["wb"].close()


async def test_the_example_of_compare_and_keep_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = await ran("Compare and keep")

    assert repr(names["compared"]).removeprefix("Comparison(against the settings in force; ")[:-1] in section(
        "Compare and keep"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snapshot", "still.html"]
    assert [hit.kept for hit in names["again"].state.hits] == [hit.kept for hit in names["wb"].state.hits]
    for name in ("wb", "again"):
        names[name].close()


async def test_the_tour_of_five_minutes_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("strands", reason="The tour opens an agent of the Strands SDK.")
    monkeypatch.chdir(tmp_path)
    names = await ran("Five minutes with your own agent")

    assert "The user is allergic to latex." in capsys.readouterr().out
    assert "query: the whole history → rank 1" in str(names["found"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "agent_memory.py",
        "memory_cases",
        "test_agent_memory.py",
    ]
    names["wb"].close()


async def test_the_example_of_a_store_of_ones_own_runs():
    names = await ran("A store of your own")

    assert [entry.content for entry in names["wb"].trace.entries] == ["Two bath mats, silicone."]
    names["wb"].close()


def test_every_notebook_stands_in_the_table_of_questions():
    linked = re.findall(r"\]\(notebooks/(\w+)\.ipynb\) \|$", README, flags=re.MULTILINE)

    assert linked == sorted(path.stem for path in (PROJECT / "notebooks").glob("*.ipynb"))


async def test_the_example_of_opening_a_workbench_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    await memwb.TestMemoryStore(name="notes", path="notes.json").add("The mats are of rubber.")
    agent = memwb.MemoryManager([memwb.TestMemoryStore(name="of-the-agent", persist=False)])  # a manager opens as well

    names = await ran("On your own memories", agent=agent)
    assert set(names) - {"memwb", "agent", "__builtins__"} == set()


async def test_the_example_of_editing_runs():
    names = await ran("Edit the store")

    wb = names["wb"]
    assert wb.entries.frame["content"].tolist() == ["I like tea.", "i LIKE tea!"]
    assert await wb.state.source.stores[0].count() == 4
    wb.close()


async def test_the_example_of_callbacks_runs():
    names = await ran("Callbacks to begin with")

    wb = names["wb"]
    assert wb.trace.text == "<memory>\n- I use a cane.\n</memory>"  # what was said already is left out: jazz
    assert repr(await wb.probe()) in blocks("Callbacks to begin with")[0]
    wb.close()


async def test_the_example_of_the_timeline_and_the_tools_runs(capsys):
    names = await ran("The same facts in nine calls, and the tools of the model")

    assert capsys.readouterr().out.strip()
    for name in ("panel", "tools", "wb"):
        names[name].close()


def test_every_block_of_python_is_run():
    tested = re.findall(r'ran\(\s*"([^"]+)"(?:, (\d))?', Path(__file__).read_text(encoding="utf-8"))
    headings = [part.split("\n", 1)[0] for part in README.split("\n## ")[1:]]
    written = {(heading, place) for heading in headings for place in range(len(blocks(heading)))}

    assert written - {(heading, int(place or 0)) for heading, place in tested} == set()


def test_the_scripts_that_it_names_exist():
    named = set(re.findall(r"`python -m (tests\.[\w.]+)", README))

    assert named
    assert [name for name in named if not (PROJECT / (name.replace(".", "/") + ".py")).is_file()] == []
