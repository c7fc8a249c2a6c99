"""Composes statements of the files in `sql/statements`.

A statement is a list of common table expressions, each of which is a file. Its own file lists them,
with the options that each depends on, and at last the file of the final SELECT. It may begin with
the list of another one:

    --begin best
    --with hits AS MATERIALIZED described --? touch !turns
    --then best_first

In every file, a mark such as `--? tags !teams` ends a condition, a join or a column, which is left
out unless the option tags is on and teams is off. `:conditions` stands for the file of this name in
`parts`, without its first line. Other names with a colon are parameters, or places that the caller
fills. The SQL function `composed` does the same, generated from these files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from pgrecall.core.resources import sql_folder
from pgrecall.schema.fields import COUNTERS, FIELD, ROW

RANKING = ("search", "best", "scores", "linked", "context", "explain", "standing", "matched")
"""The statements that rank, which the SQL function `statement` returns."""
ONLY_IN_PYTHON = ("candidates", "listed")
"""One that ranks and that psql does not know, and its option; files of the others have marks of
these."""
FILTERING = ("list", "passing", "delete", "entities")
"""The others that psql executes."""
_MARK = re.compile(r" *--\? ([!\w ]+)$")
_BEGINS = re.compile(r" *(AND \(|,|:|--|(?:\w+ )?JOIN\b)")
_BUILT_IN = (
    *("array_agg", "array_position", "cardinality", "concat", "count", "first_value"),
    *("jsonb_build_object", "length", "lower", "max", "min", "now", "numnode", "octet_length"),
    *("regexp_count", "regexp_replace", "row_number", "statement_timestamp", "strpos", "sum"),
    *("tsvector_to_array",),
)
_OF_POSTGRESQL = re.compile(rf"(?<![.\w])((?:{'|'.join(_BUILT_IN)})\(|unnest\([^,()]*\))| (&&|@>) ")
"""Functions and operators for which PostgreSQL may take one of the same name, in a schema of the
search_path, that fits its arguments better. `unnest` of several arrays is PostgreSQL's own."""
_PLACE = re.compile(r"(?<!:):([a-z]\w*)")
_WHERE = ("where", "where_meets")
"""Places with conditions of the caller, who may write pgrecall. in a text."""
_INDENTED = "\n    "


class Line(NamedTuple):
    """A line of a statement, and the options that it depends on."""

    text: str
    needs: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()
    name: str = ""
    """The first option of its mark, if it ends with one."""

    def is_in(self, options: Collection[str]) -> bool:
        return self.needs.issubset(options) and self.excludes.isdisjoint(options)

    def is_as(self, other: Line) -> bool:
        """True if it depends on no more options than another one."""
        return self.needs == other.needs and self.excludes == other.excludes

    def within(self, other: Line) -> Line:
        """The line, which also depends on the options of another one."""
        return self._replace(
            needs=self.needs | other.needs, excludes=self.excludes | other.excludes
        )


def composed(name: str, chosen: Collection[str], places: Mapping[str, str], *, schema: str) -> str:
    """The text of a statement with these options, with named parameters.

    `places` maps names to the SQL that stands there, which may name other places. In all of it,
    except for the conditions of the caller, `pgrecall.` means our schema.
    """
    options = options_of(name, chosen)
    tables, last = [], ""
    for head, file in entries(name):
        if head.is_in(options):
            body = "\n".join(line.text for line in blocks(file) if line.is_in(options))
            if head.text:
                tables.append(f"{head.text} (\n    {body.replace(chr(10), _INDENTED)}\n)")
            else:
                last = body
    begin = f"WITH {', '.join(tables)}\n" if tables else ""
    text = f"/* pgrecall {name} */\n{begin}{last}"
    own = {name: place for name, place in places.items() if name not in _WHERE}

    def filled(match: re.Match[str]) -> str:
        place = own.get(match[1])
        return match[0] if place is None else _PLACE.sub(filled, place)

    text = _PLACE.sub(filled, text).replace("pgrecall.", f'"{schema}".')
    return _PLACE.sub(
        lambda match: places.get(match[1], "") if match[1] in _WHERE else match[0], text
    )


def options_of(name: str, chosen: Collection[str]) -> frozenset[str]:
    """The options given for a statement, its name, and those that follow from them."""
    options = {name, *chosen}
    for line in derived():
        if line.is_in(options):
            options.add(line.name)
    return frozenset(options)


@cache
def derived() -> tuple[Line, ...]:
    """Options, and the others that each follows from."""
    lines = []
    for line in _file("options"):
        name, *mark = line.text.removeprefix("--option ").split()
        lines.append(_marked(Line("", name=name), mark))
    return tuple(lines)


@cache
def known_options() -> tuple[str, ...]:
    """All options that can be given, in the order of the alphabet."""
    lines = (
        line for name in RANKING for head, file in entries(name) for line in (head, *blocks(file))
    )
    names = {name for line in (*lines, *derived()) for name in line.needs | line.excludes}
    follow = {line.name for line in derived()} - {"usage"}
    return tuple(sorted(names - follow - {"where", *RANKING, *ONLY_IN_PYTHON}))


@cache
def entries(name: str) -> tuple[tuple[Line, str], ...]:
    """The list of a statement: how each common table expression begins, and its file. At the end
    there is the file of the final SELECT, which begins with nothing."""
    files: list[tuple[Line, str]] = []
    for line in _file(name):
        what, file = line.text.rsplit(" ", 1)
        if what == "--begin":
            files += ((head.within(line), body) for head, body in entries(file) if head.text)
        else:
            files.append((line._replace(text=what.removeprefix("--then")[len("--with ") :]), file))
    return tuple(files)


@cache
def blocks(file: str) -> tuple[Line, ...]:
    """The lines of a file with its parts; those that depend on the same options are one."""
    lines: list[Line] = []
    for line in _with_parts(_file(file)):
        if lines and lines[-1].is_as(line):
            lines[-1] = lines[-1]._replace(text=f"{lines[-1].text}\n{line.text}")
        else:
            lines.append(line)
    return tuple(lines)


def _with_parts(lines: Collection[Line]) -> Iterator[Line]:
    """The lines, with the lines of the parts that they name."""
    for line in lines:
        place = next((one for one in _PLACE.finditer(line.text) if one[1] in _parts()), None)
        if place is None:
            yield line
            continue
        part = [one.within(line) for one in _with_parts(_parts()[place[1]])]
        before, behind = line.text[: place.start()], line.text[place.end() :]
        if part[0].is_as(line):
            part[0] = part[0]._replace(text=before + part[0].text.lstrip())
        elif before.strip():
            yield line._replace(text=before, name="")
        if part[-1].is_as(line):
            part[-1] = part[-1]._replace(text=part[-1].text + behind)
        elif behind.strip():
            part.append(line._replace(text=behind))
        yield from part


@cache
def _parts() -> dict[str, tuple[Line, ...]]:
    """The lines of each part."""
    folder = sql_folder() / "statements" / "parts"
    parts = {path.stem: _file(f"parts/{path.stem}")[1:] for path in folder.glob("*.sql")}
    brief = frozenset({"brief"})
    columns = Line(_columns(ROW), excludes=brief), Line(_columns(_BRIEF), needs=brief)
    return parts | {"columns": columns, "meets": _meets(parts)}


def condition_names(options: Collection[str]) -> list[str]:
    """The names of the conditions of a statement with these options, without the caller's own."""
    options = options_of("explain", options)
    return [line.name for line in _parts()["meets"] if line.name and line.is_in(options)]


def _meets(parts: Mapping[str, Collection[Line]]) -> tuple[Line, ...]:
    """Each condition of these parts by its name, as arguments of jsonb_build_object."""
    conditions: list[Line] = [Line("'any', true")]
    begun: list[Line] = []
    for line in (*parts["conditions"], *parts["others"]):
        if line.needs or line.excludes:
            begun.append(line)
        if line.name == "where":
            begun = [line._replace(text=":where_meets", name="")]
        elif line.name:
            first = begun[0].text.strip().removeprefix("AND ")
            begun[0] = begun[0]._replace(text=f", '{line.name}', coalesce({first}")
            begun[-1] = begun[-1]._replace(text=f"{begun[-1].text}, false)")
        if line.name:
            conditions += begun
            begun = []
    return tuple(conditions)


def named_column(name: str) -> str:
    """A field as a column of this name."""
    text = column(name)
    return f"{text} AS {name}" if name in COUNTERS else text


def column(name: str) -> str:
    """The value of a field, in terms of a memory and its usage; 0 if it was never used."""
    if name in COUNTERS:
        return f"coalesce(memory_usage.{name}, 0)"
    return f"{'memory_usage' if FIELD[name].part == 'usage' else 'agent_memories'}.{name}"


_BRIEF = (
    *("agent_id", "id", "content", "memory_type", "created_at", "importance", "tier", "key"),
    *("session", "turn", "last_accessed_at"),
)
"""Columns that psql shows: planning all of them would take longer than a small search."""


def _columns(names: Collection[str]) -> str:
    """These fields of `Memory`, as `leading_memory` takes all of them; without the embedding."""
    return ", ".join(
        "NULL AS embedding" if one == "embedding" else named_column(one) for one in names
    )


@cache
def _file(path: str) -> tuple[Line, ...]:
    """The lines of a file without comments and marks."""
    lines: list[Line] = []
    text = (sql_folder() / "statements" / f"{path}.sql").read_text(encoding="utf-8")
    for one in text.splitlines():
        if one.startswith("-- "):
            continue
        mark = _MARK.search(one)
        text = one[: mark.start()] if mark else one
        lines.append(Line(_OF_POSTGRESQL.sub(_qualified, text)))
        if mark is not None:
            names = mark[1].split()
            first = _first(lines)
            lines[first:] = [_marked(line, names) for line in lines[first:]]
            lines[-1] = lines[-1]._replace(name=names[0].removeprefix("!"))
    return tuple(lines)


def _qualified(match: re.Match[str]) -> str:
    return f"pg_catalog.{match[1]}" if match[1] else f" OPERATOR(pg_catalog.{match[2]}) "


def _marked(line: Line, names: Collection[str]) -> Line:
    """The line, which also depends on the options of a mark."""
    needs = frozenset(name for name in names if name[0] != "!")
    return line.within(Line("", needs, frozenset(name[1:] for name in names if name[0] == "!")))


def _first(lines: list[Line]) -> int:
    """The first line of what a mark at the last line belongs to."""
    depth = 0
    for place in range(len(lines) - 1, 0, -1):
        depth += lines[place].text.count("(") - lines[place].text.count(")")
        if depth == 0 and (_BEGINS.match(lines[place].text) or lines[place - 1].name):
            return place
    return 0
