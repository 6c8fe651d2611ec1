"""What a workbench writes out for an agent: settings, callbacks as source, and the previewed text in a test."""

from __future__ import annotations

import functools
import importlib.util

import pytest

from memwb import callbacks
from memwb.errors import ConfigError, StaleTraceError
from memwb.memory import InjectionFormatContext, InjectionQueryContext, MemoryEntry
from memwb.workbench import WorkbenchState
from tests.workbench.fakes import ABOUT_ME, ListStore, assistant, tool_call, tool_result, user

LIMIT = 3


@pytest.fixture
async def state():
    state = WorkbenchState([ListStore(*ABOUT_ME)], "Do I use a cane?")
    await state.settled()
    return state


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def context(*messages):
    return InjectionQueryContext(messages=list(messages))


async def test_the_settings_become_a_module_and_the_preview_a_test_beside_it(state, tmp_path):
    await state.set(max_entries=2, trigger="everyTurn", placement="append")
    written = state.export(tmp_path / "new" / "agent_memory.py")
    assert repr(written) == "Export(agent_memory.py, test_agent_memory.py)"
    module = loaded(written.module)
    assert module.injection == {"max_entries": 2, "trigger": "everyTurn"}
    assert (module.STORES, module.PLACEMENT) == (["profile"], "append")
    test = written.test.read_text(encoding="utf-8")
    assert "I have moderate mobility issues and use a cane." in test
    assert "import memwb" not in test + written.module.read_text(encoding="utf-8")


async def test_callbacks_of_cells_editors_lambdas_and_the_gallery_are_written_as_functions(state, tmp_path):
    def last(context):
        import re

        return re.sub(r"\W+", " ", context.messages[-1]["content"][0]["text"])

    await state.set(query=last, format=lambda given: "\n".join(entry.content for entry in given.entries))
    await state.edit(
        "trigger", "from math import inf\n\ndef few(n):\n    return n < inf\n\ndef trigger(c):\n    return few(1)\n"
    )
    module = loaded(state.export(tmp_path / "agent_memory.py").module)
    assert module.injection["query"](context(user("a, b"))) == "a b"
    assert module.injection["format"](type("C", (), {"entries": []})()) == ""
    assert module.injection["trigger"](None) is True


QUERIES = [
    callbacks.latest_user_message,
    callbacks.last_two_messages,
    callbacks.question_with_answer,
    callbacks.latest_without_stop_words,
    callbacks.whole_history,
    callbacks.Remembering(callbacks.latest_without_stop_words),
]
FORMATS = [
    callbacks.default_block,
    callbacks.block_with_dates_and_ids,
    callbacks.bullet_list,
    callbacks.grouped_by_store,
    functools.partial(callbacks.token_budgeted, budget=20),
    callbacks.Filtered(callbacks.bullet_list, functools.partial(callbacks.score_floor, least=2), callbacks.not_said),
]
TALKS = [
    [],
    [user("Do the artist's arts use a cane?"), assistant("Yes, please."), user("an Art")],
    [user("tea?"), tool_call(), tool_result("noon")],
    [user("  "), assistant(""), tool_result("noon")],
    [{"role": "user", "content": [{"text": "a"}, {"image": {}}, {"text": "b"}]}],
]


@pytest.mark.parametrize("callback", QUERIES, ids=range(6))
async def test_a_query_of_memwbs_own_does_the_same_when_it_is_written_out(callback, state, tmp_path):
    await state.set(query=callback)
    module = state.export(tmp_path / "agent_memory.py").module
    written = loaded(module).injection["query"]
    assert [written(context(*talk)) for talk in TALKS] == [callback(context(*talk)) for talk in TALKS]
    assert "from memwb" not in module.read_text(encoding="utf-8").partition("STORES")[2]


@pytest.mark.parametrize("callback", FORMATS, ids=range(6))
async def test_a_format_of_memwbs_own_does_the_same_when_it_is_written_out(callback, state, tmp_path):
    await state.set(query=callbacks.Remembering(), format=callback)
    module = state.export(tmp_path / "agent_memory.py").module
    written = loaded(module).injection
    entries = [MemoryEntry("a <b> & 'c'", 'n"', {"_relevanceScore": score}) for score in (1, 2, 3)]
    written["query"](context(user("other words")))
    callbacks.remember(context(user("other words")))
    assert written["format"](InjectionFormatContext(list(entries))) == callback(InjectionFormatContext(list(entries)))
    assert "from memwb" not in module.read_text(encoding="utf-8").partition("STORES")[2]


async def test_what_a_callback_imports_of_memwb_is_written_above_it(state, tmp_path):
    def asked(context):
        from memwb import text
        from memwb.ranking import STOP_WORDS

        try:
            from memwb.callbacks import bullet_list  # noqa: F401
        except ImportError:
            from memwb.callbacks import (  # noqa: F401
                default_block,
            )
        return " ".join(word for word in text(context.messages[-1]).split() if word not in STOP_WORDS)

    await state.set(query=asked)
    module = loaded(state.export(tmp_path / "agent_memory.py").module)
    assert module.injection["query"](context(user(" the cane"))) == "cane"
    assert callable(module.default_block)
    source = (tmp_path / "agent_memory.py").read_text(encoding="utf-8")
    assert "import memwb" not in source.replace("Neither file needs memwb", "")
    assert "from memwb" not in source.replace("from a memwb workbench", "")


async def test_an_import_of_memwb_that_cannot_stand_alone_is_refused(state, tmp_path):
    def whole(context):
        import memwb

        return memwb.text(context.messages[-1])

    def other(context):
        from memwb.ranking import tokenize

        return " ".join(tokenize("a"))

    def renamed(context):
        from memwb import text as said

        return said(context.messages[-1])

    for query, told in ((whole, "`import memwb`"), (other, "import tokenize`"), (renamed, "import text as said`")):
        assert f"{told}, and the module is to run without memwb" in await refusal(state, tmp_path, query=query)


async def test_parts_of_a_combination_that_use_names_of_the_notebook_are_refused(state, tmp_path):
    def limited(entries):
        return entries[:LIMIT]

    format = callbacks.Filtered(callbacks.bullet_list, limited)
    assert "is a Filtered of functions that use 'LIMIT'" in await refusal(state, tmp_path, format=format)


async def test_the_list_of_stop_words_is_written_with_its_licence(state, tmp_path):
    await state.set(query=callbacks.latest_without_stop_words)
    text = state.export(tmp_path / "agent_memory.py").module.read_text(encoding="utf-8")
    assert "Copyright (c) 2001, Dr Martin Porter" in text
    assert "THIS SOFTWARE IS PROVIDED" in text


async def test_lambdas_on_one_line_are_told_apart(state, tmp_path):
    await state.set(query=lambda c: "first", trigger=lambda c: (lambda d: bool(d))(1))
    module = loaded(state.export(tmp_path / "agent_memory.py").module)
    assert (module.query(None), module.trigger(None)) == ("first", True)


async def refusal(state, tmp_path, **settings):
    await state.set(**settings)
    with pytest.raises(ConfigError) as caught:
        state.export(tmp_path / "agent_memory.py")
    assert str(caught.value).endswith("Nothing was written.")
    assert list(tmp_path.iterdir()) == []
    return str(caught.value)


async def test_a_callback_that_uses_names_of_the_notebook_is_refused_naming_them(state, tmp_path):
    outer = "cane"

    def uses_many(context, words=LIMIT):
        return functools.reduce(max, [outer, str(words)])

    told = await refusal(state, tmp_path, query=uses_many)
    assert told == (
        "The query callback 'uses_many' uses 'outer', 'LIMIT', 'functools' of the notebook, which a module "
        "does not have. Import or define them inside the function. Nothing was written."
    )
    assert "uses 'LIMIT' of the notebook" in await refusal(state, tmp_path, query=lambda c: "x" * LIMIT)


async def test_a_notebooks_own_meaning_of_a_name_of_pythons_is_refused_too(state, tmp_path):
    source = "def sorted(x):\n    return 'mine'\n\ndef query(context):\n    return sorted([1])\n"
    namespace = {}
    path = tmp_path / "cell.py"
    path.write_text(source)
    exec(compile(source, str(path), "exec"), namespace)
    await state.set(query=namespace["query"])
    with pytest.raises(ConfigError, match="'query' uses 'sorted' of the notebook"):
        state.export(tmp_path / "agent_memory.py")


async def test_names_in_annotations_do_no_harm(state, tmp_path):
    def noted(context: InjectionQueryContext, limit: LIMIT = 2) -> LIMIT:
        return "cane"

    await state.set(query=noted)
    assert loaded(state.export(tmp_path / "agent_memory.py").module).noted(None) == "cane"


class Asking:
    """Called as a function."""

    def __call__(self, context):
        return "cane"


def decorated(function):
    return function


async def test_what_has_no_source_of_its_own_is_refused_with_what_to_do(state, tmp_path):
    @decorated
    def changed(context):
        return "cane"

    assert "is a Asking, whose source cannot be written out" in await refusal(state, tmp_path, query=Asking())
    partial = functools.partial(lambda word, context: word, "cane")
    assert "is a partial" in await refusal(state, tmp_path, query=partial)
    assert "is decorated with @decorated" in await refusal(state, tmp_path, query=changed)
    namespace = {}
    exec("def made(context):\n    return 'cane'\n", namespace)
    assert "'made' has no source that can be read" in await refusal(state, tmp_path, query=namespace["made"])


async def test_the_workbenchs_own_decorator_is_left_out(state, tmp_path):
    class Bench:
        @staticmethod
        def query(function):
            return function

    bench = Bench()

    @bench.query
    def asked(context):
        return "cane"

    await state.set(query=asked)
    assert "@" not in state.export(tmp_path / "agent_memory.py").module.read_text().partition("def asked")[0][-30:]


async def test_two_callbacks_may_share_a_helper_but_not_a_name(state, tmp_path):
    helper = "def words(c):\n    return {!r}\n\ndef {}(context):\n    return words(context)\n"
    await state.edit("query", helper.format("cane", "query"))
    await state.edit("format", helper.format("other", "format"))
    with pytest.raises(ConfigError, match="two callbacks define 'words', each in its own way; rename one"):
        state.export(tmp_path / "agent_memory.py")
    await state.edit("format", helper.format("cane", "format"))
    with pytest.raises(ConfigError, match="two callbacks define 'words'"):  # the same words, in pieces that differ
        state.export(tmp_path / "agent_memory.py")
    await state.edit("format", "def format(context):\n    return 'cane'\n")
    await state.edit("query", "def query(context):\n    return format(7)\n")
    with pytest.raises(ConfigError, match="uses Python's 'format', which another callback defines"):
        state.export(tmp_path / "agent_memory.py")
    await state.edit("query", "injection = 'cane'\n\ndef query(context):\n    return injection\n")
    with pytest.raises(ConfigError, match="defines 'injection', a name of the module itself"):
        state.export(tmp_path / "agent_memory.py")


async def test_an_editors_import_from_the_future_moves_to_the_top(state, tmp_path):
    await state.edit(
        "query", "from __future__ import annotations\n\ndef query(context: Unheard) -> str:\n    return 'cane'\n"
    )
    assert loaded(state.export(tmp_path / "agent_memory.py").module).query(None) == "cane"


async def test_a_file_of_somebodys_is_never_overwritten_one_of_an_export_is(state, tmp_path):
    state.export(tmp_path / "agent_memory.py")
    await state.set(max_entries=1)
    assert loaded(state.export(tmp_path / "agent_memory.py").module).injection["max_entries"] == 1
    mine = tmp_path / "test_mine.py"
    mine.write_text("print('mine')\n")
    with pytest.raises(ConfigError, match=r"test_mine.py' exists and was not written by an export"):
        state.export(tmp_path / "mine.py")
    assert (mine.read_text(), (tmp_path / "mine.py").exists()) == ("print('mine')\n", False)


class Shelf:
    @classmethod
    def of_the_class(cls, context):
        return "cane"

    def of_an_object(self, context):
        return "cane"


@pytest.mark.parametrize("method", [Shelf.of_the_class, Shelf().of_an_object])
async def test_a_method_is_refused_since_its_source_wants_an_object_too(method, state, tmp_path):
    said = "query callback is a method, whose source cannot be written out. Write a plain function around it"
    assert said in await refusal(state, tmp_path, query=method)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (None, "path must be a text or a Path, not None"),
        (5, "path must be a text or a Path, not 5"),
        ("folder.py", "is a folder; take another name"),
        ("__init__.py", "is no module to import settings from"),
        ("test_q.py", "is no module to import settings from"),
    ],
)
async def test_a_path_that_cannot_be_an_exports_is_refused(path, said, state, tmp_path):
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(ConfigError, match=said) as caught:
        state.export(tmp_path / path if isinstance(path, str) else path)
    assert caught.value.key == "path"
    assert [each.name for each in tmp_path.iterdir()] == ["folder.py"]


@pytest.mark.parametrize(
    "name", ["memory", "agent-memory.py", "2.py", "class.py", "json.py", "strands.py", "memory.txt"]
)
async def test_a_name_that_no_module_can_have_is_refused(name, state, tmp_path):
    with pytest.raises(ConfigError, match=r"no name of a Python module|would hide the one of that name"):
        state.export(tmp_path / name)


async def test_b37_a_tilde_is_the_home_folder_and_parents_are_made(state, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state.export("~/sub/new/agent_memory.py").module == tmp_path / "sub" / "new" / "agent_memory.py"


async def test_a_pending_change_is_awaited_first(state, tmp_path):
    state.put(max_entries=1)
    with pytest.raises(StaleTraceError):
        state.export(tmp_path / "agent_memory.py")


async def test_without_a_model_call_there_is_nothing_to_test(tmp_path):
    state = WorkbenchState([ListStore(*ABOUT_ME)])
    await state.settled()
    with pytest.raises(ConfigError, match="there is no model call to test"):
        state.export(tmp_path / "agent_memory.py")


async def test_what_would_break_off_an_agents_call_is_refused(state, tmp_path):
    assert "would break off its call there" in await refusal(state, tmp_path, format=lambda context: 5)


async def test_a_value_that_is_no_source_is_named(tmp_path):
    messages = [{"role": "user", "content": [{"text": "cane"}], "metadata": {"at": object}}]
    state = WorkbenchState([ListStore(*ABOUT_ME)], messages)
    await state.settled()
    with pytest.raises(
        ConfigError, match="the conversation holds a value that cannot be written as Python source: type"
    ):
        state.export(tmp_path / "agent_memory.py")


async def test_b09_text_that_tries_to_end_the_files_strings_stays_text(tmp_path):
    odd = 'cane """ \\ {name} \ud83d \u2028 \x00 \' %s'
    store = ListStore(odd, name='n""" + boom()')
    state = WorkbenchState([store], f"cane {odd}")
    await state.settled()
    written = state.export(tmp_path / "agent_memory.py")
    assert loaded(written.module).STORES == ['n""" + boom()']
    namespace = {}
    text = written.test.read_text(encoding="utf-8")
    exec(text[text.index("MESSAGES") : text.index("class Store")], namespace)
    assert namespace["MESSAGES"] == state.seen
    assert namespace["FOLDED"][1, 48] == state.trace.messages[0]


async def test_each_release_is_expected_to_write_the_block_as_it_does(state, tmp_path):
    messages = [user("Do I use a cane?"), tool_call(), tool_result("noon")]
    await state.set(messages=messages, trigger="everyTurn", query=lambda c: "cane")
    text = state.export(tmp_path / "agent_memory.py").test.read_text(encoding="utf-8")
    namespace = {}
    exec(text[text.index("GIVEN =") : text.index("class Store")], namespace)
    block = state.trace.text
    assert (namespace["GIVEN"], namespace["AT"]) == (messages, 2)
    assert {since: message["content"][1:] for since, message in namespace["FOLDED"].items()} == {
        (1, 48): [{"text": block}],
        (1, 54): [{"text": f"\n\n{block}"}],
        (1, 59): [{"text": block}],
    }


async def test_injection_that_is_off_is_exported_as_off(state, tmp_path):
    await state.set(injection=False)
    assert loaded(state.export(tmp_path / "agent_memory.py").module).injection is False
