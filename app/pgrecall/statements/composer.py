"""Composes statements of the files in `sql/statements`.

A statement is a list of common table expressions, each of which is a file. Its own file lists them,
with the options that each depends on, and at last the file of the final SELECT. It may begin with
the list of another one:

    --begin best
    --with hits AS MATERIALIZED described --? touch !along
    --then best_first

In every file, a mark such as `--? tags !teams` ends a condition, a join or a column, which is left
out unless the option tags is on and teams is off. `:conditions` stands for the file of this name in
`parts`, without its first line. Other names with a colon are parameters, or places that the caller
fills. The SQL function `composed` does the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from pgrecall.core.resources import sql_folder

_MARK = re.compile(r" *--\? ([!\w ]+)$")
_BEGINS = re.compile(r" *(AND \(|,|:|--|(?:\w+ )?JOIN\b)")
_PLACE = re.compile(r"(?<!:):([a-z]\w*)")


class Line(NamedTuple):
    """A line of a file, and the options that it depends on."""

    text: str
    needs: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()
    name: str = ""
    """The first option of its mark, if it ends with one."""

    def is_in(self, options: Collection[str]) -> bool:
        return self.needs.issubset(options) and self.excludes.isdisjoint(options)


@cache
def files() -> dict[str, tuple[Line, ...]]:
    """The lines of each file. Those of a part begin with its second one."""
    folder = sql_folder() / "statements"
    found = {path.stem: parsed(path.read_text(encoding="utf-8")) for path in folder.glob("*.sql")}
    for path in (folder / "parts").glob("*.sql"):
        found[f":{path.stem}"] = parsed(path.read_text(encoding="utf-8"))[1:]
    return found


def parsed(text: str) -> tuple[Line, ...]:
    """The lines of a file without comments and marks."""
    lines: list[Line] = []
    for one in text.splitlines():
        if one.startswith("-- "):
            continue
        mark = _MARK.search(one)
        if mark is None:
            lines.append(Line(one))
            continue
        lines.append(Line(one[: mark.start()], name=mark[1].split()[0].removeprefix("!")))
        first, (needs, excludes) = _first(lines), _names(mark[1])
        lines[first:] = [
            line._replace(needs=line.needs | needs, excludes=line.excludes | excludes)
            for line in lines[first:]
        ]
    return tuple(lines)


def _names(mark: str) -> tuple[frozenset[str], frozenset[str]]:
    names = mark.split()
    return (
        frozenset(name for name in names if name[0] != "!"),
        frozenset(name[1:] for name in names if name[0] == "!"),
    )


def _first(lines: list[Line]) -> int:
    """The first line of what the mark at the last line ends."""
    depth = 0
    for place in range(len(lines) - 1, 0, -1):
        depth += lines[place].text.count("(") - lines[place].text.count(")")
        if depth == 0 and (_BEGINS.match(lines[place].text) or lines[place - 1].name):
            return place
    return 0


@cache
def _derived() -> tuple[tuple[str, Line], ...]:
    """Options, and the others that they follow from."""
    found = []
    for line in files()["options"]:
        name, *mark = line.text.removeprefix("--option ").split()
        found.append((name, Line("", *_names(" ".join(mark)))))
    return tuple(found)


def options_of(given: Collection[str]) -> frozenset[str]:
    """The options given and those that follow from them."""
    options = set(given)
    for name, line in _derived():
        if line.is_in(options):
            options.add(name)
    return frozenset(options)


def composed(name: str, given: Collection[str], places: Mapping[str, str], *, schema: str) -> str:
    """The text of a statement with these options, with named parameters.

    `places` maps names to the SQL that stands there. Its names beginning with `pgrecall.` are in
    our schema, too, except for those of the place `where`.
    """
    options = options_of(given)
    tables, last = [], ""
    for what, file in _listed(name, options):
        body = _filled(file, options, places)
        if what == "--then":
            last = body
        else:
            indented = body.replace("\n", "\n    ")
            tables.append(f"{what.removeprefix('--with ')} (\n    {indented}\n)")
    begin = f"WITH {', '.join(tables)}\n" if tables else ""
    text = f"/* pgrecall {name} */\n{begin}{last}"
    text = text.replace("pgrecall.", f'"{schema}".')
    own = {name: places[name] for name in places if name.startswith("where")}
    return _PLACE.sub(lambda found: own.get(found[1], found[0]), text)


def conditions(given: Collection[str]) -> dict[str, str]:
    """Each condition that a memory has to meet with these options, by the first option of its mark.
    Those of the caller are `where_1` and so on, as places."""
    options = options_of(given)
    found: dict[str, str] = {}
    lines: list[str] = []
    for line in (*files()[":conditions"], *files()[":others"]):
        if line.name or line.needs or line.excludes:
            lines.append(line.text.strip())
            if line.name:
                if line.is_in(options):
                    found[line.name] = " ".join(lines).removeprefix("AND ")
                lines = []
    return found


def _listed(name: str, options: Collection[str]) -> Iterator[tuple[str, str]]:
    """The entries of a statement: what each is, and its file."""
    for line in files()[name]:
        if line.is_in(options):
            what, file = line.text.rsplit(" ", 1)
            if what == "--begin":
                yield from (entry for entry in _listed(file, options) if entry[0] != "--then")
            else:
                yield what, file


def _filled(name: str, options: Collection[str], places: Mapping[str, str]) -> str:
    """The text of a file, with its parts and places."""

    def filled(found: re.Match[str]) -> str:
        name = found[1]
        if name in places and not name.startswith("where"):
            return _PLACE.sub(filled, places[name])
        part = found[0]
        return _filled(part, options, places).strip() if part in files() else part

    text = "\n".join(line.text for line in files()[name] if line.is_in(options))
    return _PLACE.sub(filled, text)
