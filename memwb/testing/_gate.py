"""Case folders as tests: one call in a test module of the user's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..evaluation.gate import GateResult


def check_folder(folder: str | os.PathLike[str], metric: str | None = None, tolerance: float = 0.0) -> GateResult:
    """Fail when a case of a case folder gets less of its memory than in the folder's baseline.

    ::

        from pathlib import Path
        from memwb.testing import check_folder

        def test_memory():
            check_folder(Path(__file__).with_name("memory_cases"))

    Args:
        folder: What ``memwb new-regression`` or :func:`memwb.evaluation.save_folder` wrote.
        metric: As for ``Report.assert_no_worse``, as is the tolerance.
        tolerance: By how much it may be worse.

    Raises:
        GateError: A case is worse or missing, or the same entries give another text. An AssertionError, whose message
            names the cases with what arrived then and now.
        ConfigError: The folder cannot be used; or an event loop runs, where ``await load_folder(folder).check()`` does
            the same.
    """
    __tracebackhide__ = True  # pytest then shows the call in the test, not this one
    import asyncio

    from ..evaluation.folder import load_folder

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(load_folder(folder).check(metric, tolerance))
    raise ConfigError(
        "check_folder: an event loop runs here, as in an async test or a notebook; use await instead: "
        f"`await load_folder({str(folder)!r}).check()`, with `from memwb.evaluation import load_folder`.",
        key="folder",
        value=str(folder),
    )
