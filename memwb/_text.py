"""Small things done to text everywhere: shortening, quoting, counting, and making the invisible visible."""

from __future__ import annotations

import re

# Not among them: the joiners U+200C and U+200D, which Persian, Hindi and many emoji are written with.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0001-\U000e007f]"
)
_CONTROLS = {
    0x00: "null",
    0x07: "bell",
    0x08: "backspace",
    0x0B: "vertical tab",
    0x0C: "form feed",
    0x0D: "carriage return",
    0x1B: "escape",
    0x7F: "delete",
}
"""Control characters, to which Unicode gives no names of their own."""
_XML_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a model sees in ``text``: its characters divided by 4, rounded up."""
    return -(-len(text) // 4)


def shortened(text: str, length: int = 60) -> str:
    """Return the text on one line of at most ``length`` characters, the cut shown by an ellipsis."""
    beginning = text[: 20 * length]  # nearly always enough, and a text may be long
    line = _line(beginning)
    if len(line) <= length and len(beginning) < len(text):
        line = _line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _line(text: str) -> str:
    return " ".join(visible(text).split())


def cropped(text: str, length: int = 300) -> str:
    """Return the text as it is, or its beginning with an ellipsis where it has more than ``length`` characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def quoted(text: str, length: int = 60) -> str:
    """Return the shortened text in single quotes, for sentences."""
    return f"'{shortened(text, length)}'"


def visible(text: str) -> str:
    r"""Show characters that a page would hide, turn around or refuse as their escapes (``\x1b``, ``\u202e``)."""
    if text.isprintable():  # as nearly every text is; none of the characters sought is
        return text
    return _CONTROL.sub(lambda match: _escape(match.group()), text)


def seen_apart(text: str) -> list[tuple[str, str]]:
    r"""Part a text into pieces as they are shown, each with its name where it is a hidden character, else "".

    The name is Unicode's, with the code: ``("\u200b", "zero width space U+200B")``.
    """
    if text.isprintable():
        return [(text, "")]
    pieces: list[tuple[str, str]] = []
    at = 0
    for match in _CONTROL.finditer(text):
        if match.start() > at:
            pieces.append((text[at : match.start()], ""))
        pieces.append((_escape(match.group()), hidden_name(match.group())))
        at = match.end()
    return [*pieces, (text[at:], "")] if at < len(text) else pieces


def hidden_name(character: str) -> str:
    """Return what a character is called: ``right-to-left override U+202E``."""
    import unicodedata  # only hidden characters need it

    code = ord(character)
    kind = {"Cs": "lone surrogate", "Cn": "no character"}.get(unicodedata.category(character), "control character")
    return f"{unicodedata.name(character, _CONTROLS.get(code, kind)).lower()} U+{code:04X}"


def _escape(character: str) -> str:
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def xml_forbidden(text: str) -> list[str]:
    """Return the characters of ``text`` that XML 1.0 does not allow, each once, in order of appearance."""
    return list(dict.fromkeys(_XML_FORBIDDEN.findall(text)))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 entry``, ``2,000 entries``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def said(error: BaseException) -> str:
    """Return what an exception says, "" when it cannot say it."""
    try:
        return str(error)
    except Exception:  # an exception whose own text fails must not hide the first fault
        return ""
