"""What a callback's text calls: what reaches outside of the process, and what is another thing at each run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_MODULES = {
    "reaches the network": (
        "socket ssl select http urllib ftplib smtplib imaplib poplib telnetlib xmlrpc requests httpx aiohttp urllib3 "
        "websockets websocket paramiko boto3 botocore openai anthropic pymongo redis psycopg psycopg2"
    ),
    "starts a process": "subprocess multiprocessing pty",
    "reads or writes files": "shutil tempfile glob fileinput sqlite3 shelve dbm",
    "runs code that nobody has read": "pickle marshal importlib runpy ctypes code",
}
_FUNCTIONS = {
    "reads or writes files": (
        "open io.open os.open os.remove os.unlink os.rename os.replace os.rmdir os.mkdir os.makedirs os.listdir "
        "os.scandir os.walk os.chmod pathlib.Path.home"
    ),
    "starts a process": (
        "os.system os.popen os.fork os.execv os.execve os.execvp os.spawnl os.spawnv os.kill os.posix_spawn "
        "asyncio.create_subprocess_exec asyncio.create_subprocess_shell"
    ),
    "reaches the network": "asyncio.open_connection asyncio.start_server",
    "runs code that nobody has read": "eval exec compile __import__",
    "waits": "time.sleep input breakpoint asyncio.run threading.Event.wait",
}
_METHODS = {
    "reads or writes files": "read_text write_text read_bytes write_bytes unlink rmdir mkdir iterdir rglob touch",
}
_OF_MODULE = {name: what for what, names in _MODULES.items() for name in names.split()}
_OF_FUNCTION = {name: what for what, names in _FUNCTIONS.items() for name in names.split()}
_OF_METHOD = {name: what for what, names in _METHODS.items() for name in names.split()}

_CHANGING_MODULES = {"random", "secrets", "uuid"}
_CHANGING = frozenset(
    """
    time.time time.time_ns time.monotonic time.perf_counter time.localtime time.gmtime time.strftime os.urandom
    datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today os.getpid id hash
    """.split()
)


def calls_outside(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Yield each call that leaves the process or holds it up: as it is written, what it does, and its line."""
    names = _imported(tree)
    imported = set(map(_root, names.values()))
    for call in _calls(tree):
        path = _path(call.func, names)
        root = _root(path)
        what = _OF_FUNCTION.get(path) or (_OF_MODULE.get(root) if root in imported else None)
        if what is None and isinstance(call.func, ast.Attribute):
            what = _OF_METHOD.get(call.func.attr)
        if what is not None:
            yield f"{ast.unparse(call.func)}()", what, call.lineno


def changing_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield what gives another result at each run, or in each process, as it is written, and its line."""
    names = _imported(tree)
    imported = set(map(_root, names.values()))
    for call in _calls(tree):
        path = _path(call.func, names)
        if path in _CHANGING or _root(path) in _CHANGING_MODULES & imported:
            yield f"{ast.unparse(call.func)}()", call.lineno
        if isinstance(call.func, ast.Attribute) and call.func.attr == "join" and any(map(_is_set, call.args)):
            yield "the order of a set", call.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension) and _is_set(node.iter):
            yield "the order of a set", node.iter.lineno


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.BitOr | ast.BitAnd | ast.BitXor):
        return _is_set(node.left) or _is_set(node.right)
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")
    return named or isinstance(node, ast.Set | ast.SetComp)


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _root(path: str) -> str:
    return path.partition(".")[0]


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return for each name that is imported what it stands for, such as ``urllib.request.urlopen``."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or _root(alias.name)] = alias.name if alias.asname else _root(alias.name)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return names


def _path(function: ast.expr, names: dict[str, str]) -> str:
    """Return what a call calls, with the imported name written out; "" where it is no name."""
    if isinstance(function, ast.Name):
        return names.get(function.id, function.id)
    if isinstance(function, ast.Attribute):
        owner = _path(function.value, names)
        return f"{owner}.{function.attr}" if owner else ""
    return ""
