"""A report is kept as JSONL, the same bytes at every run, and an evaluation that was cut off goes on from its file."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memwb import datasets
from memwb.errors import ConfigError, DamagedFileError
from memwb.evaluation import Case, Report, at_random, evaluate
from memwb.stores import TestMemoryStore
from tests.scripts.evaluation_kills import run, runs_in

PROJECT = Path(__file__).parents[2]
DATA = datasets.load("ikat-demo", owner="2024-test/11")
SETTINGS = {"default": {}, "one": {"max_entries": 1}, "at random": at_random(draws=2)}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = [(await evaluate(DATA, SETTINGS)).to_jsonl(tmp_path / name) for name in ("one", "two")]

    assert one.read_bytes() == two.read_bytes()


async def test_a_report_is_read_back_as_it_was(tmp_path: Path) -> None:
    report = await evaluate(DATA, SETTINGS)
    again = Report.from_jsonl(report.to_jsonl(tmp_path / "report.jsonl"))

    assert again == report
    assert repr(again) == repr(report)
    assert again.seconds == {"default": None, "one": None, "at random": None}


async def test_times_stand_in_the_file_on_request_alone(tmp_path: Path) -> None:
    report = await evaluate(DATA, {"default": {}})
    with_times = Report.from_jsonl(report.to_jsonl(tmp_path / "report.jsonl", times=True))

    assert with_times.seconds == report.seconds
    assert (report.seconds["default"] or 0) > 0
    assert "seconds" not in lines(report.to_jsonl(tmp_path / "plain.jsonl"))[1]


async def test_the_first_line_says_what_was_run(tmp_path: Path) -> None:
    report = await evaluate(DATA, SETTINGS, k=(5,))
    first = lines(report.to_jsonl(tmp_path / "report.jsonl"))[0]

    assert first["memwb report"] == 1
    assert (first["source"], first["k"], first["cases"]) == ("ikat-demo", [5], [case.id for case in DATA.cases])
    assert first["settings"]["one"] == {"max_entries": 1, "trigger": "userTurn", "placement": "prepend"}
    assert set(first["data"]) == {"cases", "stores"}
    assert first["tokens_by"] == "characters / 4, rounded up"


async def test_an_interrupted_run_goes_on_and_gives_the_same_report(tmp_path: Path) -> None:
    whole = await evaluate(DATA, SETTINGS)
    file, ran = tmp_path / "run.jsonl", []

    def interrupt(done: int, total: int) -> None:
        ran.append(done)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await evaluate(DATA, SETTINGS, progress=interrupt, resume=file)
    assert len(lines(file)) == 1 + 5
    with pytest.raises(DamagedFileError, match=r"runs of .* are missing.*resume=path"):
        Report.from_jsonl(file)

    resumed = await evaluate(DATA, SETTINGS, progress=lambda done, total: ran.append(done), resume=file)
    assert ran == list(range(1, len(SETTINGS) * len(DATA.cases) + 1))
    assert resumed == whole
    assert resumed.to_jsonl(tmp_path / "a").read_bytes() == whole.to_jsonl(tmp_path / "b").read_bytes()
    assert Report.from_jsonl(file) == whole


_KILLED = """
import os, signal, sys
from pathlib import Path
from tests.scripts.evaluation_kills import run

def kill(done, total):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

run(Path(sys.argv[1]), "2024-test/11", kill)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL.")
def test_a_process_that_is_killed_again_and_again_goes_on_and_gives_the_same_report(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    for done in (5, 17):
        child = subprocess.run([sys.executable, "-c", _KILLED, str(file), str(done)], cwd=PROJECT)
        assert child.returncode == -signal.SIGKILL
        assert runs_in(file) == done
    whole = run(None, "2024-test/11")
    resumed = run(file, "2024-test/11")
    assert resumed == whole
    assert resumed.to_jsonl(tmp_path / "a").read_bytes() == whole.to_jsonl(tmp_path / "b").read_bytes()


async def test_a_finished_file_is_read_and_nothing_runs(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    first = await evaluate(DATA, SETTINGS, resume=file)
    kept = file.read_bytes()
    again = await evaluate(DATA, SETTINGS, resume=file, progress=lambda done, total: pytest.fail("it ran"))

    assert again == first
    assert file.read_bytes() == kept


async def test_a_line_that_a_kill_has_torn_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    whole = await evaluate(DATA, SETTINGS, resume=file)
    file.write_bytes(file.read_bytes()[:-20])

    assert await evaluate(DATA, SETTINGS, resume=file) == whole


@pytest.mark.parametrize(
    ("case", "settings", "entries", "message"),
    [
        ("Other tea?", {}, ["tea"], "the cases have changed"),
        ("tea", {}, ["tea", "more tea"], "the entries in the stores have changed"),
        ("tea", {"max_entries": 2}, ["tea"], "setting 'mine': max_entries was 5, is 2"),
        ("tea", {"query": lambda context: "tea"}, ["tea"], r"setting 'mine': query was None, is '<lambda>@\w+'"),
    ],
)
async def test_the_file_of_another_evaluation_is_refused_by_what_differs(
    tmp_path: Path, case: str, settings: Any, entries: list[str], message: str
) -> None:
    async def run(case: str, settings: Any, entries: list[str]) -> Report:
        cases = [Case("c", [{"role": "user", "content": [{"text": case}]}], ("tea",))]
        records = [{"content": each, "id": each, "createdAt": "2026-01-01T00:00:00Z"} for each in entries]
        store = TestMemoryStore.from_records(records, name="notes")
        return await evaluate(cases, {"mine": settings}, store, resume=tmp_path / "run.jsonl")

    await run("tea", {}, ["tea"])
    kept = (tmp_path / "run.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=message) as caught:
        await run(case, settings, entries)
    assert caught.value.key == "resume"
    assert (tmp_path / "run.jsonl").read_bytes() == kept


async def test_a_case_that_failed_is_tried_again(tmp_path: Path) -> None:
    class Down(TestMemoryStore):
        down = True

        async def search(self, query: str, options: Any = None) -> Any:
            if self.down:
                raise OSError("down")
            return await super().search(query, options)

    cases = [Case("c", [{"role": "user", "content": [{"text": "tea"}]}], ("I like tea",))]
    store = Down(name="notes", persist=False)
    await store.add("I like tea")
    assert (await evaluate(cases, {"mine": {}}, store, resume=tmp_path / "run"))["mine"].failed == 1
    store.down = False

    report = await evaluate(cases, {"mine": {}}, store, resume=tmp_path / "run")
    assert (report["mine"].failed, report["mine"].reached) == (0, 1.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "there is no line that says what was run"),
        ("{", "line 1: not JSON"),
        ('{"a": 1}\n', "this is no report of memwb"),
        ('{"memwb report": 2}\n', "it has form 2; this version of memwb reads form 1"),
    ],
)
def test_what_is_no_report_is_refused_by_its_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "report.jsonl"
    file.write_text(content)
    with pytest.raises(DamagedFileError, match=message):
        Report.from_jsonl(file)


async def test_how_many_cases_run_at_once_changes_nothing() -> None:
    class Slow(TestMemoryStore):
        at_once = most = 0

        async def search(self, query: str, options: Any = None) -> Any:
            Slow.at_once += 1
            Slow.most = max(Slow.most, Slow.at_once)
            await asyncio.sleep(0.001)
            Slow.at_once -= 1
            return await super().search(query, options)

    store = Slow.from_records(DATA.entries, name="profile")
    settings = {"default": {}, "three": {"max_entries": 3}}
    one = await evaluate(DATA.cases, settings, store)
    Slow.most = 0
    four = await evaluate(DATA.cases, settings, store, concurrency=4)

    assert four.results == one.results
    assert Slow.most == 4


async def test_a_run_of_several_at_once_can_be_cancelled() -> None:
    class Endless(TestMemoryStore):
        async def search(self, query: str, options: Any = None) -> Any:
            await asyncio.sleep(3600)

    cases = [Case(f"c{at}", [{"role": "user", "content": [{"text": "tea"}]}]) for at in range(9)]
    task = asyncio.create_task(evaluate(cases, {"mine": {}}, Endless(name="notes", persist=False), concurrency=3))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
