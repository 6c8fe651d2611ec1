"""A real JupyterLab in headless Chromium: one server, one browser and one tab for all tests.

Starting them takes about 5 s on two cores, opening a further notebook about 1.3 s. Playwright drives the Chromium
that the system has. Three rules make the tests steady:

- The page is waited for, never the kernel: a widget's callback may run in a thread of its own, so that the kernel
  reports to be idle while the callback still runs. Where nothing is to change, wait on the revision on the page.
- Locators are scoped to the notebook's panel: JupyterLab's side bars hold buttons and labels of the same names.
- A request to another host or an error that the page does not catch fails the test, whatever else it shows.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from tests.jupyter_env import folders, without_jupyter

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Playwright

Theme = Literal["light", "dark"]

SIZE = (1400, 900)
START_SECONDS = 60
WAIT_MS = 30_000

NO_CHROMIUM = (
    "The tests in tests/browser drive a real JupyterLab in Chromium, and none was found. Install one, on Debian with "
    "`apt-get install chromium`, or set the environment variable CHROMIUM to the path of a Chromium or Chrome."
)

CHROMIUM_FLAGS = [
    "--no-sandbox",  # Chromium refuses to run as root with its sandbox on, and CI is root
    "--disable-gpu",
    "--disable-quic",
    "--no-proxy-server",
    "--no-first-run",
    "--disable-background-networking",  # these three keep Chromium itself from calling home
    "--disable-component-update",
    "--disable-sync",
]

# JupyterLab's own settings: no news, no update checks, no toasts, no autosave; each cell laid out wherever it is.
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",  # a text, and "none" would ask in a toast
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "kernelShutdown": True},
}

SERVER_FLAGS = [
    "--no-browser",
    "--allow-root",
    "--ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--expose-app-in-browser",  # gives the page `jupyterapp`, whose commands the tests run
    "--LabApp.extension_manager=readonly",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
]

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}

# Every script below gets the id of the notebook's panel, so that it never acts on another notebook.
PANEL = "const app = window.jupyterapp, panel = [...app.shell.widgets('main')].find((w) => w.id === id);"

OPEN = """async (path) => {
    await window.jupyterapp.restored;
    const panel = await window.jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
    await panel.context.ready;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
    return panel.id;
}"""

# The command's promise resolves when the last cell is done: to false, when one of them raised.
RUN_ALL = f"""async (id) => {{
    {PANEL}
    app.shell.activateById(id);
    return app.commands.execute('notebook:run-all-cells');
}}"""

RUN_CELL = f"""async ([id, place]) => {{
    {PANEL}
    app.shell.activateById(id);
    panel.content.activeCellIndex = place;
    panel.content.deselectAll();
    return app.commands.execute('notebook:run-cell');
}}"""

# Not waited for: the kernel is busy when this returns.
START_CELL = f"""async ([id, place]) => {{
    {PANEL}
    app.shell.activateById(id);
    panel.content.activeCellIndex = place;
    panel.content.deselectAll();
    app.commands.execute('notebook:run-cell');
}}"""

RESTART = f"""async (id) => {{
    {PANEL}
    await panel.sessionContext.session.kernel.restart();
}}"""

ERRORS = f"""(id) => {{
    {PANEL}
    const cells = panel.content.model.toJSON().cells;
    return cells.flatMap((cell) => (cell.outputs ?? []).filter((output) => output.output_type === 'error'))
        .map((output) => `${{output.ename}}: ${{output.evalue}}\\n${{output.traceback.join('\\n')}}`);
}}"""

SET_SOURCE = f"""([id, place, source]) => {{
    {PANEL}
    panel.content.widgets[place].model.sharedModel.setSource(source);
}}"""

ADD_CELL = f"""([id, source]) => {{
    {PANEL}
    const cells = panel.content.model.sharedModel;
    cells.insertCell(cells.cells.length, {{cell_type: 'code', source}});
    return cells.cells.length - 1;
}}"""

# A saved notebook closes without asking.
CLOSE = f"""async (id) => {{
    {PANEL}
    await panel.sessionContext.shutdown();
    await panel.context.save();
    panel.close();
}}"""

SET_THEME = "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"

# JupyterLab covers the page with a splash while it loads a theme, and trips over its own when the next comes too soon.
THEME_SHOWS = """(theme) =>
    document.body.dataset.jpThemeName === theme && !document.getElementById('jupyterlab-splash')"""

SIDE_BAR = """(shown) => {
    const shell = window.jupyterapp.shell;
    if (shown) shell.expandLeft(); else shell.collapseLeft();
}"""

# Two frames: what was set is laid out, then drawn.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def find_chromium() -> str | None:
    """Return the path of a Chromium: what $CHROMIUM says, or else what the system has under a usual name."""
    if given := os.environ.get("CHROMIUM"):
        return given if Path(given).is_file() else None
    for name in ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


@dataclass
class Lab:
    """The session's JupyterLab: its tab, the folder it shows, and what went wrong on the page since the last look."""

    page: Page
    root: Path
    problems: list[str] = field(default_factory=list)

    def set_theme(self, theme: Theme) -> None:
        """Switch JupyterLab to its light or dark theme, and wait until it shows."""
        name = THEMES[theme]
        self.page.evaluate(SET_THEME, name)
        self.page.wait_for_function(THEME_SHOWS, arg=name)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, in CSS pixels."""
        self.page.set_viewport_size({"width": width, "height": height})

    def side_bar(self, shown: bool) -> None:
        """Show JupyterLab's left side bar, or leave its width to the notebook."""
        self.page.evaluate(SIDE_BAR, shown)

    def restore(self) -> None:
        """Make the page what every test finds: light, of the usual size, with the side bar."""
        self.set_theme("light")
        self.resize(*SIZE)
        self.side_bar(True)

    def write(self, name: str, sources: tuple[str, ...]) -> str:
        """Write a notebook with one code cell for each source, and return its path within the folder."""
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        cells = [new_code_cell(source) for source in sources]
        nbformat.write(new_notebook(cells=cells, metadata=kernel), self.root / name)
        return name


class Notebook:
    """A notebook that is open in the session's tab, with a kernel of its own; its locators see nothing else."""

    def __init__(self, lab: Lab, path: str) -> None:
        """Open the notebook at ``path`` of the lab's folder; ``run_all`` runs it."""
        self.lab, self.page = lab, lab.page
        self.id: str = self.page.evaluate(OPEN, path)
        self.panel: Locator = self.page.locator(f"#{self.id}")

    def run_all(self) -> None:
        """Run every cell, and wait until the last is done; a cell that raises fails the test with its traceback."""
        if not self.page.evaluate(RUN_ALL, self.id):
            raise AssertionError("A cell raised.\n" + "\n".join(self.errors()))

    def run(self, source: str, *, cell: int | None = None) -> int:
        """Run ``source`` in a new last cell, or in place of what ``cell`` held, and return the cell's place."""
        if cell is None:
            cell = int(self.page.evaluate(ADD_CELL, [self.id, source]))
        else:
            self.page.evaluate(SET_SOURCE, [self.id, cell, source])
        if not self.page.evaluate(RUN_CELL, [self.id, cell]):
            raise AssertionError(f"Cell {cell} raised.\n" + "\n".join(self.errors()))
        return cell

    def start(self, source: str) -> None:
        """Begin to run ``source`` in a new last cell, and do not wait for it."""
        cell = int(self.page.evaluate(ADD_CELL, [self.id, source]))
        self.page.evaluate(START_CELL, [self.id, cell])

    def restart(self) -> None:
        """Restart the kernel; what the cells show stays."""
        self.page.evaluate(RESTART, self.id)

    def errors(self) -> list[str]:
        """Return what the notebook's cells raised, with the tracebacks."""
        found: list[str] = self.page.evaluate(ERRORS, self.id)
        return found

    def widget(self, css_class: str) -> Locator:
        """Locate the widget to which the Python side gave this class by ``add_class``."""
        return self.panel.locator(f".{css_class}")

    def output(self, cell: int) -> Locator:
        """Locate all that the cell at this place (from 0) shows below itself."""
        return self.panel.locator(".jp-Notebook-cell").nth(cell).locator(".jp-Cell-outputArea")

    def set_theme(self, theme: Theme) -> None:
        """Switch JupyterLab to its light or dark theme; the next test starts light again."""
        self.lab.set_theme(theme)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, in CSS pixels; the next test starts with the usual one."""
        self.lab.resize(width, height)

    def side_bar(self, shown: bool) -> None:
        """Show JupyterLab's left side bar or leave its width to the notebook; the next test starts with it shown."""
        self.lab.side_bar(shown)

    def screenshot(
        self,
        name: str,
        *,
        of: Locator | None = None,
        themes: tuple[Theme, ...] = ("light", "dark"),
        size: tuple[int, int] | None = None,
    ) -> list[Path]:
        """Save a picture as ``$SCREENSHOTS/<name>-<theme>.png`` for each theme; nothing is done where that is unset.

        Args:
            name: What the picture shows; it becomes the file's name.
            of: What to take; left out, the whole page.
            themes: The themes to take it in; the page is light again afterwards.
            size: Width and height of the page in CSS pixels; left out, as it is.

        Returns:
            The files that were written.
        """
        folder = os.environ.get("SCREENSHOTS")
        if not folder:
            return []
        if size:
            self.resize(*size)
        Path(folder).mkdir(parents=True, exist_ok=True)
        files = []
        for theme in themes:
            self.set_theme(theme)
            self.page.evaluate(DRAWN)
            files.append(Path(folder, f"{name}-{theme}.png"))
            (of or self.page).screenshot(path=files[-1])
        self.set_theme("light")
        return files

    def close(self) -> None:
        """Stop the kernel and close the notebook's tab."""
        self.page.evaluate(CLOSE, self.id)


@contextlib.contextmanager
def jupyterlab(folder: Path, playwright: Playwright, chromium: str) -> Iterator[Lab]:
    """Run a JupyterLab server and a Chromium that shows it, with all their files under ``folder``."""
    token = secrets.token_hex(16)
    with _server(folder, token) as (base, wait), contextlib.closing(_browser(playwright, chromium)) as browser:
        wait()  # the browser has started meanwhile
        yield _open_tab(browser, base, token, folder / "root")


def _browser(playwright: Playwright, chromium: str) -> Browser:
    return playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)


def _open_tab(browser: Browser, base: str, token: str, root: Path) -> Lab:
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    page.set_default_timeout(WAIT_MS)
    lab = Lab(page, root)
    own = (base, base.replace("http", "ws", 1), "data:", "blob:", "about:")

    def asked(url: str) -> None:
        if not url.startswith(own):
            lab.problems.append(f"The page asked another host: {url}")

    def failed(error: str) -> None:
        if "Canceled future for" not in error:  # JupyterLab's own, of what a restart of the kernel cuts off
            lab.problems.append(f"The page did not catch: {error}")

    page.on("request", lambda request: asked(request.url))
    page.on("websocket", lambda socket: asked(socket.url))
    page.on("pageerror", lambda error: failed(str(error)))
    page.goto(f"{base}/lab?token={token}&reset")
    page.wait_for_function("window.jupyterapp?.started", timeout=START_SECONDS * 1000)
    return lab


@contextlib.contextmanager
def _server(folder: Path, token: str) -> Iterator[tuple[str, object]]:
    (folder / "root").mkdir(parents=True)
    env = without_jupyter(dict(os.environ)) | folders(folder)
    settings = Path(env["JUPYTER_CONFIG_DIR"], "labconfig", "default_setting_overrides.json")
    settings.parent.mkdir()
    settings.write_text(json.dumps(LAB_SETTINGS))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", *SERVER_FLAGS, f"--port={port}"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder / 'root'}"]
    log = folder / "server.log"
    base = f"http://127.0.0.1:{port}"
    with log.open("wb") as out, subprocess.Popen(command, env=env, stdout=out, stderr=out) as server:
        try:
            yield base, lambda: _wait(server, base, token, log)
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(server: subprocess.Popen[bytes], base: str, token: str, log: Path) -> None:
    request = urllib.request.Request(f"{base}/api/status", headers={"Authorization": f"token {token}"})
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            direct.open(request, timeout=1).close()
            return
        except OSError:  # not listening yet
            time.sleep(0.05)
    raise RuntimeError(f"JupyterLab did not start within {START_SECONDS} s:\n{log.read_text()[-3000:]}")
