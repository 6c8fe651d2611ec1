"""What a workbench exports is green with the installed SDK and without memwb, and shows what an agent gets."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager as SdkManager

from memwb import callbacks
from memwb.bridge.strands import attach, placement, plugin, scripted
from memwb.errors import ConfigError
from memwb.memory import MemoryManager
from memwb.workbench import WorkbenchState
from tests.interop import worlds
from tests.memory.stores import WordStore, user

pytestmark = worlds.LEFT_UNASKED

WITHOUT_MEMWB = """
import sys
sys.modules["memwb"] = None  # so that an import of it fails
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--rootdir", sys.argv[1], sys.argv[1]]))
"""


def run_in_an_environment_without_memwb(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "PYTHONPATH": "",
        "OTEL_SDK_DISABLED": "true",
    }
    command = [sys.executable, "-c", WITHOUT_MEMWB, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


async def opened(source: Any, messages: Any = None, **settings: Any) -> WorkbenchState:
    state = WorkbenchState(source, messages)
    await state.settled()
    await state.set(**settings)
    return state


async def test_exports_are_green_with_the_sdk_and_without_memwb(tmp_path: Path) -> None:
    stores = [WordStore("home", "green tea", "black <tea>", "a cane"), WordStore('n""" x', "tea & milk")]
    talk = [user("Which tea?"), {"role": "assistant", "content": [{"text": " "}]}, user("And a cane?")]
    tool = worlds.tool_round(random.Random(1), "t1")
    states = {
        "plain": await opened(stores, "Which tea?"),
        "appended": await opened(stores, talk, placement="append", max_entries=2),
        "prepended": await opened(stores, talk, placement="prepend", trigger="everyTurn"),
        "off": await opened(stores, "Which tea?", injection=False),
        "skipped": await opened(stores, "Nothing of that"),
        "one_store": await opened(stores, "tea?", stores=["home"]),
        "in_a_tool_loop": await opened(stores, [user("tea?"), *tool], trigger="everyTurn", query=worlds.constant),
        "lambdas": await opened(stores, talk, query=lambda c: "tea", trigger=lambda c: len(c.messages) > 2),
        "gallery": await opened(stores, talk, query=callbacks.latest_without_stop_words),
        "question": await opened(stores, [user("?"), *talk[1:]], query=callbacks.question_with_answer),
        "dated": await opened(stores, "tea?", format=callbacks.block_with_dates_and_ids),
        "grouped": await opened(stores, "tea?", format=callbacks.grouped_by_store),
        "budgeted": await opened(stores, "tea?", format=partial(callbacks.token_budgeted, budget=30)),
        "unsaid": await opened(
            stores,
            [user("green tea"), {"role": "assistant", "content": [{"text": "yes?"}]}, user("and tea")],
            query=callbacks.Remembering(),
            format=callbacks.Filtered(
                callbacks.bullet_list, callbacks.no_duplicates, callbacks.score_floor, callbacks.not_said
            ),
        ),
        "a_format": await opened(stores, "tea?", format=worlds.plain_lines),
    }
    agent = Agent(
        model=scripted(["yes"]),
        memory_manager=SdkManager(stores, injection={"trigger": worlds.by_state}),
        state={"memories": "yes"},
        name="oracle",
        callback_handler=None,
    )
    await agent.invoke_async("tea?")
    states["of_an_agent"] = await opened(agent)
    named = Agent(
        model=scripted(["yes"]), plugins=[plugin(MemoryManager(stores))], name="oracle", callback_handler=None
    )
    recording = attach(named)
    await named.invoke_async("tea?")
    states["by_name"] = await opened(named, recording[0].before, trigger=worlds.knows_its_agent)
    assert states["of_an_agent"].trace.injected
    assert states["by_name"].trace.injected
    for name, state in states.items():
        state.export(tmp_path / f"{name}_memory.py")
    done = run_in_an_environment_without_memwb(tmp_path)
    assert f"{len(states)} passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


async def test_random_workbenches_export_what_an_agent_gets(tmp_path: Path) -> None:
    rng, count, refused = random.Random("export"), 0, 0
    while count < 40:
        state = await opened(worlds.stores(rng), worlds.conversation(rng), injection=worlds.injection(rng))
        if not state.call:
            continue
        if rng.random() < 0.5:
            await state.set(placement=rng.choice(["prepend", "append"]))
        try:
            state.export(tmp_path / f"agent_memory_{count}.py")
            count += 1
        except ConfigError:
            refused += 1  # a store that breaks a whole search, a format that breaks off a call
    gc.collect()
    assert refused < count
    done = run_in_an_environment_without_memwb(tmp_path)
    assert "40 passed" in done.stdout, done.stdout + done.stderr


async def test_an_exported_test_fails_when_the_settings_are_changed(tmp_path: Path) -> None:
    state = await opened([WordStore("home", "green tea", "black tea")], "Which tea?", max_entries=1)
    written = state.export(tmp_path / "agent_memory.py")
    text = written.module.read_text(encoding="utf-8")
    written.module.write_text(text.replace('"max_entries": 1', '"max_entries": 2'), encoding="utf-8")
    done = run_in_an_environment_without_memwb(tmp_path)
    assert "1 failed" in done.stdout


async def test_the_module_says_where_the_block_was_shown(tmp_path: Path) -> None:
    state = await opened(
        Agent(model=scripted([]), memory_manager=SdkManager([WordStore("home", "tea")]), messages=[user("tea?")])
    )
    text = state.export(tmp_path / "agent_memory.py").module.read_text(encoding="utf-8")
    assert f'PLACEMENT = "{placement()}"' in text
    assert "1.54" in text
