"""What clients of the release before call: `called_functions.txt`, a function or view in each line.

    name: argument type, argument type =, … -> column type, …

An argument with = has a default. Written at each release, the first included, by
`python -m tests.migrations.called_functions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgrecall import embedded, migrate
from pgrecall.core.resources import sql_folder
from tests.migrations.asking import rows

COMMITTED = Path(__file__).with_name("called_functions.txt")
_ROOT = Path(__file__).parents[2]
_IN_DATABASE = r"""
    WITH found AS (
        SELECT p.oid, p.proname AS name, p.prorettype AS type, p.proretset,
               coalesce(p.proallargtypes,
                        string_to_array(p.proargtypes::text, ' ')::oid[]) AS types,
               coalesce(p.proargnames, '{}') AS names, p.proargmodes::text[] AS modes,
               p.pronargs - p.pronargdefaults AS needed
          FROM pg_proc p WHERE p.pronamespace = 'pgrecall'::regnamespace)
    SELECT f.name,
           ARRAY(SELECT concat_ws(' ', f.names[n], format_type(f.types[n], NULL),
                                  CASE WHEN n > f.needed THEN '=' END)
                   FROM generate_subscripts(f.types, 1) n
                  WHERE coalesce(f.modes[n], 'i') IN ('i', 'b') ORDER BY n),
           coalesce(
               nullif(ARRAY(SELECT f.names[n] || ' ' || format_type(f.types[n], NULL)
                              FROM generate_subscripts(f.types, 1) n
                             WHERE f.modes[n] = 't' ORDER BY n), '{}'),
               ARRAY[concat(CASE WHEN f.proretset THEN 'SETOF ' END, format_type(f.type, NULL))])
      FROM found f
    UNION ALL
    SELECT c.relname, '{}', ARRAY(SELECT a.attname || ' ' || format_type(a.atttypid, NULL)
                                    FROM pg_attribute a
                                   WHERE a.attrelid = c.oid AND a.attnum > 0 ORDER BY a.attnum)
      FROM pg_class c WHERE c.relnamespace = 'pgrecall'::regnamespace AND c.relkind = 'v'
    ORDER BY 1
"""


@dataclass(frozen=True)
class Signature:
    """A function, or a view: what it takes and returns."""

    name: str
    arguments: tuple[str, ...]
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(self.arguments)} -> {', '.join(self.columns)}"

    def serves(self, before: Signature) -> bool:
        """Whether it may be called as this one was: nothing but arguments with defaults, and
        columns at the end, have come in addition."""
        taken, added = (
            self.arguments[: len(before.arguments)],
            self.arguments[len(before.arguments) :],
        )
        return (
            all(now in (old, f"{old} =") for now, old in zip(taken, before.arguments, strict=False))
            and len(taken) == len(before.arguments)
            and all(argument.endswith(" =") for argument in added)
            and self.columns[: len(before.columns)] == before.columns
        )


def signatures(url: str) -> list[Signature]:
    """Of all functions and views in a database."""
    found = rows(url, _IN_DATABASE.replace("%", "%%"))
    return [Signature(name, tuple(takes), tuple(gives)) for name, takes, gives in found]


def committed() -> Iterator[Signature]:
    for line in COMMITTED.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(":")
        takes, gives = (
            tuple(part.strip().split(", ")) if part.strip() else () for part in rest.split(" -> ")
        )
        yield Signature(name, takes, gives)


def called() -> set[str]:
    """The names in the client's code and in the reference, and those of all views."""
    code = "".join(file.read_text("utf-8") for file in (_ROOT / "app").rglob("*.py"))
    pages = "".join(file.read_text("utf-8") for file in (_ROOT / "docs").rglob("*.md"))
    listed = " ".join(re.findall("<!-- functions: (.*) -->", pages))
    views = {file.stem for file in (sql_folder() / "views").glob("*.sql")}
    named = re.findall(r'"(\w+)"|\.(\w+)\(', code)
    return {*listed.split(), *views, *(name for pair in named for name in pair)}


def main() -> None:
    with embedded.database() as url:
        migrate.upgrade(url, dimensions=3)
        found = [one for one in signatures(url) if one.name in called()]
    COMMITTED.write_text("".join(f"{one}\n" for one in found), encoding="utf-8")


if __name__ == "__main__":
    main()
