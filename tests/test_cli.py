"""The command `memwb`, its notebook and the pytest helper: what turns one red turns all red, in the same words."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memwb
from memwb.cli import main
from memwb.errors import ConfigError, GateError
from memwb.testing import check_folder

PROJECT = Path(__file__).parents[1]
TEST = "from memwb.testing import check_folder\n\n\ndef test_memory():\n    check_folder({!r})\n"


def worse_callback(folder):
    path = folder / "settings" / "two_messages.py"
    source = "def query(context):\n    print('asked')\n    return 'weather'\n\n\ninjection = {"
    path.write_text(re.sub(r'"query": \w+', '"query": query', path.read_text().replace("injection = {", source)))


def changed_store(folder):
    path = folder / "stores" / "profile.json"
    path.write_text(json.dumps([each for each in json.loads(path.read_text()) if "cane" not in each["content"]]))


def changed_format(folder):
    path = folder / "settings" / "default.py"
    source = "def format(context):\n    return '\\n'.join(f'- {entry.content}' for entry in context.entries)\n\n\n"
    path.write_text(path.read_text().replace("injection = {", f'{source}injection = {{\n    "format": format,'))


CHANGES = {
    "worse_callback": (
        worse_callback,
        "did not arrive: it shares no word with the query. Searched: weather",
        "Changed: setting 'two_messages': query was last_two_messages and is query.",
    ),
    "changed_store": (
        changed_store,
        "'2024-test/11#22' is in no store any more",
        "Changed: the stores are not those of the baseline.",
    ),
    "changed_format": (
        changed_format,
        "+- I have moderate mobility issues and use a cane for support.",
        "Changed: setting 'default': format was not set and is format.",
    ),
}


def command(*arguments, **given):
    """Run the command in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    line = [sys.executable, "-m", "memwb", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=environment, timeout=120, **given)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder that `memwb new-regression` makes, with its notebook."""
    pytest.importorskip("nbclient", reason="The notebook is run by nbclient, of the extra `lab`.")
    folder = tmp_path_factory.mktemp("made") / "cases"
    done = command("new-regression", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path / "cases")
    return tmp_path / "cases"


def test_a_new_folder_holds_a_notebook_and_passes(folder, capsys):
    assert (folder / "regression.ipynb").is_file()
    assert main(["eval", str(folder)]) == 0
    assert capsys.readouterr().out == (
        "No case of 20 is worse than in the baseline.\n"
        "Not all that is expected arrives, as in the baseline, in 8 runs: '2024-test/11/t3' with 'default' 0%, "
        "'2024-test/11/t4' with 'default' 0%, '2024-test/11/t8' with 'default' 0%, "
        "'2024-test/11/t9' with 'default' 0%, '2024-test/11/t12' with 'default' 0% and 3 more.\n"
    )


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_turns_the_command_and_the_helper_red_and_is_named(name, folder, capsys):
    change, *told = CHANGES[name]
    change(folder)

    assert main(["eval", str(folder)]) == 1
    output = capsys.readouterr().out
    assert [each for each in told if each not in output] == []
    with pytest.raises(GateError) as caught:
        check_folder(folder)
    assert f"{caught.value}\n" == output


def test_notebook_and_test_pass_elsewhere_and_a_change_turns_them_red_and_is_named(made, tmp_path):
    pytest.importorskip("nbval", reason="The notebook is tested by nbval, of the extra `test`.")
    for name in ("as_it_was", *CHANGES):
        place = shutil.copytree(made, tmp_path / name / "moved elsewhere")
        if name in CHANGES:
            CHANGES[name][0](place)
        (tmp_path / name / f"test_{name}.py").write_text(TEST.format(str(place)))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    home = tmp_path / "home"
    home.mkdir()
    surroundings = {"PYTHONPATH": str(PROJECT), "PYTHONHASHSEED": "77", "HOME": str(home), "TZ": "Asia/Tokyo"}
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval", "--color=no", "-rA", "."]
    environment = {**os.environ, **surroundings}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)

    assert done.returncode == 1, done.stdout
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    failures = set(re.findall(r"^FAILED (\w+)/", output, flags=re.MULTILINE))
    assert failures == set(CHANGES), output
    for name, (_, *told) in CHANGES.items():
        assert re.search(rf"^FAILED {name}/test_{name}.py::test_memory", output, flags=re.MULTILINE), output
        assert re.search(rf"^FAILED {name}/moved elsewhere/regression.ipynb::Cell 1", output, flags=re.MULTILINE), (
            output
        )
        for sentence in told:
            assert output.count(sentence) >= 2, (name, sentence, output)
    passed = re.findall(r"^PASSED as_it_was/(\S+)", output, flags=re.MULTILINE)
    assert sorted(passed) == ["moved", "moved", "moved", "test_as_it_was.py::test_memory"], output


def test_an_update_makes_a_change_the_baseline_and_renews_the_notebook(folder):
    changed_format(folder)
    done = command("update", folder)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Before the update:\n9 cases give the model the same entries in another text")
    assert done.stdout.endswith(
        "the baseline is what the settings do now.\nregression.ipynb: the outputs are renewed.\n"
    )
    assert "- I have moderate mobility issues" in (folder / "regression.ipynb").read_text()
    assert main(["eval", str(folder)]) == 0


def test_the_result_can_be_had_as_json_and_by_a_metric(folder):
    worse_callback(folder)
    done = command("eval", folder, "--json", "--metric", "recall@5", "--tolerance", "0.1")
    told = json.loads(done.stdout)

    assert (done.returncode, set(done.stderr.split())) == (1, {"asked"})  # what a callback prints stands apart
    assert (told["ok"], told["metric"], told["tolerance"], list(told["means"])) == (
        False,
        "recall@5",
        0.1,
        ["two_messages"],
    )
    assert told["worse"][0]["now"]["figures"]["recall@5"] == 0.0
    assert main(["eval", str(folder), "--metric", "recall@5", "--tolerance", "0.7"]) == 0


def test_a_folder_that_cannot_be_used_and_wrong_usage_have_a_code_of_their_own(folder, tmp_path, capsys):
    assert main(["eval", str(tmp_path / "none")]) == 2
    assert "is no case folder: it does not exist" in capsys.readouterr().err
    assert main(["eval", str(folder), "--metric", "recal@5"]) == 2
    assert "Did you mean 'recall@5'?" in capsys.readouterr().err
    assert main(["new-regression", str(folder)]) == 2
    assert "regression.ipynb exists already" in capsys.readouterr().err
    assert main(["new-regression", str(tmp_path)]) == 2
    assert "is no case folder: it has no cases.jsonl" in capsys.readouterr().err
    (folder / "cases.jsonl").write_text("{}\n")
    assert main(["eval", str(folder)]) == 2
    assert "cases.jsonl at line 1: " in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["evil", str(folder)])
    assert caught.value.code == 2


def test_an_interrupt_ends_it_with_a_code_and_a_word(folder, monkeypatch, capsys):
    def interrupted(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("memwb.evaluation.folder.CaseFolder.compare", interrupted)
    assert main(["update", str(folder)]) == 130
    assert capsys.readouterr().err == "memwb: interrupted\n"


def test_a_cell_that_raises_leaves_the_folder_as_it_was(folder, capsys):
    changed_format(folder)
    path = folder / "regression.ipynb"
    path.write_text(path.read_text().replace("await folder.evaluate()", "1 / 0"))
    before = {file: file.read_bytes() for file in folder.parent.rglob("*") if file.is_file()}

    assert main(["update", str(folder)]) == 2
    assert "was not written: a cell raised ZeroDivisionError: division by zero" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in folder.parent.rglob("*") if file.is_file()} == before


def test_help_and_version_load_nothing_heavy():
    source = "import sys; from memwb.cli import main\ntry: main([sys.argv[1]])\nfinally: print(*sorted(sys.modules))"
    for option, told in (("--help", "exit codes: 0 as good as before"), ("--version", f"memwb {memwb.__version__}")):
        line = [sys.executable, "-c", source, option]
        done = subprocess.run(
            line, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(PROJECT)}
        )
        assert told in " ".join(done.stdout.split())
        assert {"pandas", "asyncio", "orjson", "IPython", "memwb.memory"} & set(done.stdout.split()) == set()


async def test_where_an_event_loop_runs_the_helper_says_what_to_await(folder):
    with pytest.raises(ConfigError, match=r"an event loop runs here.*`await load_folder\('.*'\)\.check\(\)`"):
        check_folder(folder)
