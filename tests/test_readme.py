"""The README says how to run and to test memwb, in commands that are read out of it and run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import memwb

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
ABOUT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def section(heading: str) -> str:
    """Return what stands below a heading, up to the next."""
    return README.split(f"\n## {heading}\n")[1].split("\n## ")[0]


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
    [block] = re.findall(r"```python\n(.*?)```", section("Memories that write themselves"), flags=re.DOTALL)
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, object] = {}
    await eval(code, names)

    assert "saved       notes messages 0-1: 'The user is allergic to latex.'" in capsys.readouterr().out


async def test_the_example_of_the_extraction_panel_runs():
    [block] = re.findall(r"```python\n(.*?)```", section("Watch memories being written"), flags=re.DOTALL)
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, object] = {"memwb": memwb}
    await eval(code, names)

    panel = names["panel"]
    assert [fact.state for fact in panel.state.facts] == ["written"]
    assert await names["store"].count() == 0
    panel.close()
    names["wb"].close()


async def test_the_example_of_a_real_agent_runs(tmp_path, monkeypatch):
    pytest.importorskip("strands", reason="The example runs an agent of the Strands SDK.")
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```python\n(.*?)```", section("In a real agent"), flags=re.DOTALL)
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, object] = {"memwb": memwb}
    await eval(code, names)

    assert [call.difference for call in names["calls"]] == [""]
    assert names["agent"].model.asked[0].messages == names["calls"][0].after
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent_memory.py", "test_agent_memory.py"]
    names["wb"].close()


async def test_the_example_of_a_conversation_runs():
    block = re.findall(r"```python\n(.*?)```", section("On your own memories"), flags=re.DOTALL)[1]
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, object] = {"memwb": memwb}
    await eval(code, names)

    wb = names["wb"]
    assert repr(wb.conversation) == "Conversation(4 messages; model call 2 of 2; 1 change can be undone)"
    assert repr(await wb.conversation.paste('[{"role": "user", "content": "Jazz?"}]')) in block
    assert wb.state.agent_state == {"visits": 3}
    wb.close()


async def test_the_example_of_several_stores_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", section("Several stores, callbacks of your own"), flags=re.DOTALL)
    names: dict[str, object] = {}
    await eval(compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    assert capsys.readouterr().out == "- A grab bar costs 30 EUR.\n"
    names["wb"].close()


async def test_the_example_of_sessions_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```python\n(.*?)```", section("Agents' sessions"), flags=re.DOTALL)
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, object] = {"memwb": memwb}
    await eval(code, names)

    panel = names["panel"]
    assert repr(names["preview"]) == "SummaryPreview(2 pinned, 3 replaced, 5 kept; tokens 47 -> 38)"
    assert repr(panel) == "Sessions(1 session of 1 user; 'monday' of 'alice': 10 entries)"
    panel.close()
    names["wb"].close()
    await names["memory"].close()


async def test_the_example_of_an_evaluation_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```python\n(.*?)```", section("Which settings are better"), flags=re.DOTALL)
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, {})

    assert (
        "+0.143 [+0.073, +0.214], 51 won, 17 lost, 91 tied (randomisation test, p < 0.001)" in capsys.readouterr().out
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.jsonl", "run.jsonl"]


async def test_the_example_of_a_guarded_folder_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```python\n(.*?)```", section("Guard it in CI"), flags=re.DOTALL)
    names: dict[str, object] = {}
    await eval(compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)

    said = re.search(r"check\(\)  # (.*)", block)
    assert said is not None
    assert repr(await names["folder"].check()) == said[1]


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
    [block] = re.findall(r"```python\n(.*?)```", section("Why is it missing"), flags=re.DOTALL)
    names: dict[str, object] = {"memwb": memwb}
    await eval(compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)

    shown = capsys.readouterr().out
    assert (
        "shares no word with the query: 'walnut' is not 'walnuts'.\n  try: add 'walnut' to the entry's text → rank 1"
        in shown
    )
    await names["wb"]
    assert names["wb"].trace.entries[0].content == "I love walnuts (walnut)"
    names["wb"].close()


async def test_the_example_of_compare_and_keep_runs(tmp_path, monkeypatch):
    [block] = re.findall(r"```python\n(.*?)```", section("Compare and keep"), flags=re.DOTALL)
    names: dict[str, object] = {"memwb": memwb}
    monkeypatch.chdir(tmp_path)
    await eval(compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)

    assert repr(names["compared"]).removeprefix("Comparison(against the settings in force; ")[:-1] in block
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snapshot", "still.html"]
    assert [hit.kept for hit in names["again"].state.hits] == [hit.kept for hit in names["wb"].state.hits]
    for name in ("wb", "again"):
        names[name].close()
