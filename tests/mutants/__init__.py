"""Guards, each broken in a copy of this checkout, and the tests that have to notice.

`python.txt` and `sql.txt` list them: `== file`, and then for each guard the test (a file and how
its name begins), the text that stands there once behind `- `, and what replaces it behind `+ `.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Mutant(NamedTuple):
    """A guard that is broken, and the tests that have to fail then."""

    file: str
    old: str
    new: str
    tests: str


def mutants() -> Iterator[Mutant]:
    """All of them, by file."""
    for listed in (Path(__file__).with_name("python.txt"), Path(__file__).with_name("sql.txt")):
        for section in ("\n" + listed.read_text()).split("\n== ")[1:]:
            file, *lines = section.rstrip("\n").split("\n")
            while lines:
                tests = lines.pop(0)
                old, new = _texts(lines, "-"), _texts(lines, "+")
                yield Mutant(file, old, new, tests)


def _texts(lines: list[str], mark: str) -> str:
    """Takes the lines with this mark from the front."""
    texts = []
    while lines and lines[0][:2].rstrip() == mark:
        texts.append(lines.pop(0)[2:])
    return "\n".join(texts)
