"""Case folders: stores, labelled cases, settings and a baseline, kept together so that a test can hold them to it.

A folder holds text files that a person can read and a version control system can compare::

    stores/          the memories; owners/<owner>/stores/ where each owner has stores of their own
    cases.jsonl      one labelled case a line
    settings/*.py    settings, each the module that `wb.export` writes; one alone may be settings.py
    baseline.jsonl   the report that the settings are held to
    blocks.jsonl     what the model got of its memory in each case of the baseline
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from .. import _files
from .._json import NotJsonError, loads
from .._options import Redact, options
from .._settings import checked_path
from .._text import counted, quoted
from .._whole_folder import put_in_place, standing, start
from ..datasets import Case, Dataset
from ..errors import ConfigError, DamagedFileError
from ..memory import MemoryInjectionConfig, MemoryManager
from ..memory.settings import resolve_injection
from ..stores.saved import open_saved, save_stores
from ._masks import WordMask, in_messages
from ._stores import ByOwner, initialize, stores_by_owner
from .arms import Arm
from .cases import checked_cases, load_cases, save_cases
from .gate import BASELINE, SHOWN, Block, GateResult, baseline_of, changed_blocks, compare, with_reasons
from .identity import hash_of_cases
from .report import Report
from .run import evaluate
from .settings_file import load_settings, settings_source

__all__ = ["CaseFolder", "load_folder", "save_folder"]

CASES, SETTINGS, BLOCKS, OWNERS = "cases.jsonl", "settings", "blocks.jsonl", "owners"

_NAME = re.compile(r"[^\W_][\w ,+@()=.-]*(?<![ .])")
_REASONS = 3  # for so many lost entries of a case it is told why
_BESIDE = "It stands in a case folder: `memwb eval FOLDER` tells whether every case still gets what it got.\n"


@dataclass(frozen=True, repr=False)
class CaseFolder:
    """A case folder as it was read; :func:`load_folder` gives it.

    Attributes:
        path: The folder.
        stores: What is searched: a list of stores, or owner -> list of stores.
        cases: The labelled cases.
        settings: Name -> settings, the baseline's order first.
        baseline: The report that the settings are held to; None where there is none yet.
        blocks: What the model got in the baseline, by setting and case.
    """

    path: Path
    stores: list[Any] | ByOwner
    cases: tuple[Case, ...]
    settings: dict[str, MemoryInjectionConfig | bool]
    baseline: Report | None
    blocks: dict[tuple[str, str], Block]

    def __repr__(self) -> str:
        held = "no baseline yet" if self.baseline is None else "with a baseline"
        settings = counted(len(self.settings), "setting")
        return f"CaseFolder({counted(len(self.cases), 'case')}, {settings}, {held})"

    async def evaluate(self, **options: Any) -> Report:
        """Run the cases under the settings; ``options`` are those of :func:`memwb.evaluate`."""
        return await evaluate(self.cases, self.settings, self.stores, **options)

    async def compare(self, metric: str | None = None, tolerance: float = 0.0) -> GateResult:
        """Run the cases and compare how they go with the baseline, and what the model gets with the blocks.

        Args:
            metric: As for ``Report.assert_no_worse``, as is the tolerance.
            tolerance: By how much a case, or with a metric its mean, may be worse.

        Raises:
            ConfigError: There is no baseline, or no such metric.
        """
        if self.baseline is None:
            raise ConfigError(
                f"{self.path} has no {BASELINE} to compare with. `memwb update {self.path}` writes one.",
                key="baseline",
                value=str(self.path),
            )
        report = await self.evaluate(k=self.baseline.k)
        result = compare(report, self.baseline, metric, tolerance)
        result = with_reasons(result, await self._reasons(result))
        now = await self.run_blocks()
        pairs = [(key[1], old.hash, now[key].hash) for key, old in self.blocks.items() if key in now]
        edited = dict.fromkeys([*result.edited, *(case for case, was, is_now in pairs if was != is_now)])
        return dataclasses.replace(result, blocks=changed_blocks(self.blocks, now), edited=tuple(edited))

    async def check(self, metric: str | None = None, tolerance: float = 0.0) -> GateResult:
        """Return :meth:`compare`, or raise when it is not ``ok``.

        Raises:
            GateError: A case is worse or missing, or the same entries give another text; the message names them.
            ConfigError: As for :meth:`compare`.
        """
        result = await self.compare(metric, tolerance)
        result.raise_if_worse()
        return result

    async def update(self) -> Report:
        """Make what the settings do now the baseline, and return its report; the folder's files are replaced whole."""
        report = await self.evaluate()
        blocks = await self.run_blocks()
        lines = [
            {"setting": setting, "case": case, "hash": block.hash, "entries": list(block.entries), "text": block.text}
            for (setting, case), block in blocks.items()
        ]
        _write(self.path / BLOCKS, lines)
        report.to_jsonl(self.path / BASELINE)
        return report

    async def run_blocks(self, first: int | None = None) -> dict[tuple[str, str], Block]:
        """Return what the model gets of its memory in each case, or in the first few, by setting and case."""
        found = {}
        by_owner = stores_by_owner(None, self.cases, self.stores)
        await initialize(by_owner.values())
        for name in self.settings:
            for case in self.cases[:first]:
                trace = await self._manager(name, by_owner[case.owner]).trace_injection(case.messages)
                kept = [hit for hit in trace.hits if hit.kept] if trace.injected else []
                entries = tuple(hit.content if hit.id is None else hit.id for hit in kept)
                found[name, case.id] = Block(entries, trace.text if trace.injected else None, hash_of_cases([case]))
        return found

    async def _reasons(self, result: GateResult) -> dict[tuple[str, str], tuple[str, ...]]:
        cases = {case.id: case for case in self.cases}
        by_owner = stores_by_owner(None, self.cases, self.stores)
        found = {}
        for each in result.worse[:SHOWN]:
            case = cases[each.now.case]
            stores = by_owner[case.owner]
            manager = self._manager(each.setting, stores)
            told = []
            for lost in each.lost[:_REASONS]:
                if await _is_held(stores, lost):
                    told.append((await manager.why(lost, case.messages)).sentence)
                else:
                    told.append(f"{quoted(lost)} is in no store any more, neither as an id nor as a text.")
            found[each.setting, case.id] = tuple(told)
        return found

    def _manager(self, setting: str, stores: Sequence[Any]) -> MemoryManager:
        return MemoryManager(stores, search_tool_config=False, injection=self.settings[setting])


def load_folder(folder: str | os.PathLike[str]) -> CaseFolder:
    """Read a case folder. Its settings are run, like any module that is imported: read a stranger's before.

    Raises:
        ConfigError: It is no case folder, or a case or a setting holds what cannot be taken.
        DamagedFileError: A file of it cannot be read; the error names the file and the line.
        OSError: A file cannot be opened.
    """
    path = checked_path(folder, "folder", "load_folder")
    path = standing(path, CASES) or path
    if not (path / CASES).is_file():
        raise ConfigError(
            f"{path} is no case folder: {f'it has no {CASES}' if path.is_dir() else 'it does not exist'}. "
            f"`memwb new-regression {folder}` makes one to begin with.",
            key="folder",
            value=str(folder),
        )
    baseline = baseline_of(path) if (path / BASELINE).exists() else None
    order = list(baseline.draws) if baseline is not None else []
    files = _settings_files(path)
    if not files:
        ask = "Export one there: wb.export('settings/mine.py') writes it."
        raise ConfigError(f"{path} has no settings, neither settings.py nor settings/*.py. {ask}", key="settings")
    names = sorted(files, key=lambda name: (order.index(name) if name in order else len(order), name))
    return CaseFolder(
        path=path,
        stores=_open(path),
        cases=load_cases(path / CASES),
        settings={name: load_settings(files[name]) for name in names},
        baseline=baseline,
        blocks=_read_blocks(path / BLOCKS) if (path / BLOCKS).exists() else {},
    )


async def save_folder(
    folder: str | os.PathLike[str],
    stores: Any,
    cases: Dataset | Iterable[Case | Mapping[str, Any]],
    settings: Mapping[str, bool | MemoryInjectionConfig | str | os.PathLike[str]],
    *,
    replace: bool = False,
    redact: Redact = None,
) -> CaseFolder:
    """Write a case folder with a baseline, and return it as it is read back.

    The baseline is what the written folder gives when it is run. The folder appears whole or, when something cannot be
    written or the call is interrupted, not at all.

    Args:
        folder: Where; it must not exist yet, or be empty.
        replace: Whether a case folder that is there gives way, with its baseline, to the new one: for more cases, or
            stores and settings that have changed.
        stores: What is searched, in every form that :func:`memwb.evaluate` takes; None for a data set's own. Each of
            them must be able to list its entries.
        cases: A data set, or labelled cases.
        settings: Name -> settings, or the path of a module that ``wb.export`` wrote.
        redact: True masks each word of entries and cases by another word, always the same one, so that a search by
            words finds what it found (see :class:`memwb.evaluation.WordMask`). A function of a text is used as it is;
            where it leaves nothing to find, the cases will not work. Metadata of cases is then left out; ids, owners,
            categories and what a callback's source says stay. None: as ``memwb.options(redact=...)`` says; False:
            nothing is masked.

    Raises:
        ConfigError: The folder is taken, or something given cannot be kept; nothing was written.
    """
    path = checked_path(folder, "folder", "save_folder")
    earlier = (path / CASES).is_file()
    if path.exists() and not (earlier and replace) and (not path.is_dir() or any(path.iterdir())):
        way = "replace=True writes it anew with what is given, `memwb update` renews its baseline alone"
        raise ConfigError(
            f"save_folder: {path} exists already; {way if earlier else 'it is no case folder: take another name'}.",
            key="folder",
            value=str(folder),
        )
    checked = checked_cases(cases)
    by_owner = stores_by_owner(cases, checked, stores)
    await initialize(by_owner.values())
    redact = options().redact if redact is None else redact
    mask = WordMask() if redact is True else redact or None
    names = [store.name for store in next(iter(by_owner.values()))]
    sources = {_checked_name(name): _source(name, setting, names) for name, setting in _checked(settings).items()}
    new = start(path)
    try:
        await _save_stores(new, by_owner, mask)
        ids = await _ids(by_owner) if mask else frozenset()
        save_cases(new / CASES, [_masked(case, mask, ids) for case in checked] if mask else checked)
        (new / SETTINGS).mkdir()
        for name, source in sources.items():
            (new / SETTINGS / f"{name}.py").write_bytes(source)
        made = load_folder(new)
        made = dataclasses.replace(made, settings={name: made.settings[name] for name in sources})  # in the given order
        await made.update()
        if path.exists() and not earlier:
            path.rmdir()
        put_in_place(new, path, CASES)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return load_folder(path)


# -- settings -------------------------------------------------------------------------------------------------------


def _settings_files(path: Path) -> dict[str, Path]:
    """Return name -> module of the settings in a folder."""
    alone = path / f"{SETTINGS}.py"
    files = {SETTINGS: alone} if alone.is_file() else {}
    tests = set(path.glob(f"{SETTINGS}/test_*.py"))  # an export writes one beside the module
    files.update({file.stem: file for file in sorted(path.glob(f"{SETTINGS}/*.py")) if file not in tests})
    return files


def _checked(settings: Any) -> Mapping[str, Any]:
    if isinstance(settings, Mapping) and settings:
        return settings
    raise ConfigError(
        f'save_folder: settings must be a dict like {{"default": {{}}, "mine": wb.injection}}, not {settings!r:.80}.',
        key="settings",
        value=settings,
    )


def _checked_name(name: Any) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name) and not name.startswith("test_"):
        return name
    raise ConfigError(
        f"save_folder: a setting is named {name!r:.80}; its name becomes that of a file, so it begins with a letter or "
        "a digit and holds these, blanks and , + @ ( ) = . _ - alone.",
        key="settings",
        value=name,
    )


def _source(name: str, setting: Any, stores: Sequence[str]) -> bytes:
    if isinstance(setting, Arm):
        raise ConfigError(
            f"save_folder: setting {name!r} is an Arm, whose stores no agent has; a folder keeps injection settings.",
            key="settings",
            value=setting,
        )
    if isinstance(setting, str | os.PathLike):
        load_settings(setting)
        return Path(setting).read_bytes()
    resolved = resolve_injection(setting, prefix=f"save_folder: setting {name!r}: ")
    module = re.sub(r"\W", "_", name)
    try:
        return settings_source(resolved, module, stores=stores, beside=_BESIDE).encode("utf-8")
    except ConfigError as error:
        message = f"save_folder: setting {name!r}: {error}"
        raise ConfigError(message, key=error.key, value=error.value, allowed=error.allowed) from error


# -- stores ---------------------------------------------------------------------------------------------------------


async def _save_stores(path: Path, by_owner: ByOwner, mask: Any) -> None:
    groups = {tuple(map(id, stores)) for stores in by_owner.values()}
    if len(groups) == 1:
        await save_stores(path, next(iter(by_owner.values())), redact=mask)
        return
    taken: dict[str, str] = {}
    for owner, stores in by_owner.items():
        name = "" if owner is None else quote(owner, safe="").replace(".", "%2E")
        if (other := taken.setdefault(name.casefold(), name)) != name:
            raise ConfigError(
                f"save_folder: the owners {unquote(other)!r} and {owner!r} differ in case alone; not every system "
                "can keep two folders of such names.",
                key="owner",
                value=owner,
            )
        await save_stores(path / OWNERS / name if name else path, stores, redact=mask)


def _open(path: Path) -> list[Any] | ByOwner:
    owners: ByOwner = {
        unquote(folder.name): [*open_saved(folder)] for folder in sorted(path.glob(f"{OWNERS}/*")) if folder.is_dir()
    }
    shared: list[Any] | None = open_saved(path) if (path / "stores").is_dir() or not owners else None
    if not owners:
        return shared or []
    return {**({} if shared is None else {None: shared}), **owners}


async def _is_held(stores: Sequence[Any], name: str) -> bool:
    """Whether a store holds an entry with this id or text."""
    for store in stores:
        if await store.get(name) is not None or await store.count(where=name.strip()):
            return True
    return False


async def _ids(by_owner: ByOwner) -> frozenset[str]:
    """Return the ids of all entries: what a case expects by id keeps its name."""
    stores = {id(store): store for group in by_owner.values() for store in group}.values()
    found: set[str] = set()
    for store in stores:
        found.update([record.id for record in await store.page(0, max(1, await store.count()))])
    return frozenset(found)


# -- cases and blocks -----------------------------------------------------------------------------------------------


def _masked(case: Case, mask: Callable[[str], str], ids: frozenset[str]) -> Case:
    expected = tuple(each if each in ids else mask(each) for each in case.expected)
    return dataclasses.replace(case, messages=in_messages(mask, case.messages), expected=expected, metadata=None)


def _read_blocks(file: Path) -> dict[tuple[str, str], Block]:
    found = {}
    for number, values in _lines(file):
        try:
            found[values["setting"], values["case"]] = Block(tuple(values["entries"]), values["text"], values["hash"])
        except (KeyError, TypeError) as error:
            raise DamagedFileError(file, f"line {number}", f"it is no block of a case ({error})") from error
    return found


def _lines(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise _files.described(error, f"{file} cannot be read: {error.strerror}.", file) from error
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, loads(line)
            except NotJsonError as error:
                raise DamagedFileError(file, f"line {number}", error.cause) from error


def _write(file: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write lines of JSON in the place of what a file held."""
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    _files.replace(_files.resolve(file), data.encode("utf-8", "backslashreplace"))
