"""Servers of the notebook hosts other than JupyterLab, each with its files under one folder and on a free port."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from tests.jupyter_env import folders, without_jupyter

START_SECONDS = 90


def write_notebook(path: Path, sources: Sequence[str]) -> None:
    """Write a notebook with one code cell for each source."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources], metadata=kernel), path)


@contextlib.contextmanager
def notebook_7(folder: Path) -> Iterator[str]:
    """Run Notebook 7 over ``folder``; gives an address with ``{name}`` for the notebook's file name."""
    token, port = secrets.token_hex(16), _free_port()
    command = [sys.executable, "-m", "notebook", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", "--ServerApp.port_retries=0"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]
    command += ["--JupyterNotebookApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    command += ["--JupyterNotebookApp.extension_manager=readonly"]
    with _server(command, folder, f"http://127.0.0.1:{port}/api/status?token={token}"):
        yield f"http://127.0.0.1:{port}/notebooks/{{name}}?token={token}"


@contextlib.contextmanager
def voila(folder: Path) -> Iterator[str]:
    """Run Voila over ``folder``; gives an address with ``{name}`` for the notebook's file name."""
    port = _free_port()
    command = [sys.executable, "-m", "voila", str(folder), "--no-browser", f"--port={port}"]
    command += ["--Voila.ip=127.0.0.1", "--show_tracebacks=True", "--VoilaConfiguration.file_allowlist=.*"]
    with _server(command, folder, f"http://127.0.0.1:{port}/voila/static/main.js", any_answer=True):
        yield f"http://127.0.0.1:{port}/voila/render/{{name}}"


@contextlib.contextmanager
def marimo(script: Path) -> Iterator[str]:
    """Run a marimo notebook as an application; gives its address."""
    port = _free_port()
    command = [sys.executable, "-m", "marimo", "--yes", "run", str(script), "--headless", "--no-token"]
    command += ["--host=127.0.0.1", f"--port={port}"]
    with _server(command, script.parent, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextlib.contextmanager
def _server(command: list[str], folder: Path, address: str, any_answer: bool = False) -> Iterator[None]:
    state = folder / ".state"
    state.mkdir(exist_ok=True)
    env = without_jupyter(dict(os.environ)) | folders(state) | {"HOME": str(state), "XDG_CONFIG_HOME": str(state)}
    log = state / "server.log"
    with log.open("wb") as out, subprocess.Popen(command, env=env, cwd=folder, stdout=out, stderr=out) as server:
        try:
            _wait(server, address, log, any_answer)
            yield
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path, any_answer: bool) -> None:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            direct.open(address, timeout=1).close()
            return
        except urllib.error.HTTPError:
            if any_answer:
                return
            time.sleep(0.1)
        except OSError:  # not listening yet
            time.sleep(0.1)
    raise RuntimeError(f"{_name(server)} did not start within {START_SECONDS} s:\n{log.read_text()[-3000:]}")


def _name(server: subprocess.Popen[bytes]) -> str:
    """Return which module the server runs."""
    return str(server.args[2]) if isinstance(server.args, list) else str(server.args)
