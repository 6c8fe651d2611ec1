"""What .ci/run reads out of the project's own files, so that nothing is written down twice.

python .ci/project.py command "Test it"    the command below that heading of README.md
python .ci/project.py lowest               each run-time dependency at its lowest permitted version
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1]


def command(heading: str) -> str:
    """Return the one command in the one fenced block below the README's heading."""
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    sections = re.split(r"^## +(.+?) *$", text, flags=re.MULTILINE)
    section = dict(zip(sections[1::2], sections[2::2], strict=True)).get(heading)
    if section is None:
        raise SystemExit(f"README.md has no heading {heading!r}; it has {sections[1::2]}.")
    blocks = re.findall(r"^```\w*\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    if len(blocks) != 1 or len(blocks[0].strip().splitlines()) != 1:
        raise SystemExit(f"README.md, {heading!r}: expected one fenced block with one command, found {blocks}.")
    return str(blocks[0].strip())


def lowest() -> list[str]:
    """Return each run-time dependency as ``name==version``, with the lower bound of pyproject.toml."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = []
    for requirement in project["dependencies"]:
        found = re.fullmatch(r"([\w.-]+)>=([\w.]+)(,.*)?", requirement.replace(" ", ""))
        if not found:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound; expected `name>=version`.")
        pins.append(f"{found[1]}=={found[2]}")
    return pins


def main(arguments: list[str]) -> None:
    match arguments:
        case ["command", heading]:
            print(command(heading))
        case ["lowest"]:
            print(*lowest(), sep="\n")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
