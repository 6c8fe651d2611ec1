"""Ids as file names: any text can be an id, but not every text is a name on every system.

An id that is a safe name everywhere is its own name, as in Definable. Any other one is encoded: ``%`` in front, then
small letters, digits, ``_`` and ``-`` as they are and each other byte as ``%`` with two hex digits. So encoded names
never differ in letter case alone. Where that is too long, a part of it and the id's SHA-256 stand for it, with a ``~``
between; then only the records tell the id.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata

_LONGEST = 180  # bytes; file systems take 255, and temporary files have longer names
_PREFIX = 60
_FORBIDDEN = re.compile(r'[<>:"/\\|?*]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$|clock\$) *(?:\.|$)", re.IGNORECASE)
_ENCODED = re.compile(r"%((?:[a-z0-9_-]|%[0-9a-f]{2})+)")
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")


_FILE_SYSTEM = sys.getfilesystemencoding()


def is_safe(id: str) -> bool:
    """Whether an id is a file name on every system, and cannot be taken for an encoded or hidden one."""
    return (
        id.isprintable()
        and id[0] not in ".%"
        and id[-1] not in ". "
        and not _FORBIDDEN.search(id)
        and not _RESERVED.match(id)
        and len(id.encode()) <= _LONGEST
    )


def is_name(id: str) -> bool:
    """Whether an id can be a name in a folder on this system, as another program may have used it."""
    if os.name == "nt":
        return is_safe(id)
    return "/" not in id and "\0" not in id and id not in (".", "..") and len(id.encode()) <= 249


def encoded(id: str) -> str:
    """Return the encoded name of an id."""
    data = id.encode()
    parts = [chr(byte) if byte in _KEPT else f"%{byte:02x}" for byte in data]
    name = "%" + "".join(parts)
    if len(name) <= _LONGEST:
        return name
    import hashlib

    prefix = ""
    for part in parts:
        if len(prefix) + len(part) > _PREFIX:
            break
        prefix += part
    return f"%{prefix}~{hashlib.sha256(data).hexdigest()}"


def names_of(id: str) -> tuple[str, ...]:
    """Return the names under which an id may be found, the one to try first in front."""
    return (native(id), encoded(id)) if is_name(id) else (encoded(id),)


def native(name: str) -> str:
    """Return a name so that it has the same bytes in a folder whatever the locale, as Python gives it there."""
    return name if name.isascii() or _FILE_SYSTEM == "utf-8" else name.encode().decode(_FILE_SYSTEM, "surrogateescape")


def folded(name: str) -> str:
    """Return a form that is the same for names that some file system does not tell apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
