"""The function that returns the lines of the files in `sql/statements`, for statements of psql."""

from __future__ import annotations

from collections.abc import Iterable

from pgrecall.statements.composer import derived, files

_COMMENT = (
    "The lines of the statements that searches run. A line is left out unless the options in needs "
    "are on and those in excludes are off. name: the first option of the condition, join or column "
    "that ends with this line. Files that begin with a colon are parts of others."
)


def statement_lines() -> str:
    """CREATE FUNCTION of `statement_lines`, with the lines as `statements.composer` reads them."""
    rows = ",\n        ".join(_rows())
    return f"""\
CREATE OR REPLACE FUNCTION statement_lines()
    RETURNS TABLE (file text, place integer, line text, needs text[], excludes text[], name text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 600
BEGIN ATOMIC
    VALUES
        {rows};
END;

COMMENT ON FUNCTION statement_lines IS
    {_literal(_COMMENT)};
"""


def _rows() -> Iterable[str]:
    for name, lines in sorted(files().items()):
        if name != "options":
            for place, line in enumerate(lines, start=1):
                yield _row(name, place, line.text, line.needs, line.excludes, line.name)
    for place, (name, line) in enumerate(derived(), start=1):
        yield _row("options", place, name, line.needs, line.excludes, "")


def _row(
    file: str, place: int, text: str, needs: Iterable[str], excludes: Iterable[str], name: str
) -> str:
    literals = [_literal(file), str(place), _literal(text)]
    literals += [_literal(f"{{{','.join(sorted(names))}}}") for names in (needs, excludes)]
    if place == 1:
        literals[3:] = [f"{names}::text[]" for names in literals[3:]]
    return f"({', '.join((*literals, _literal(name)))})"


def _literal(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"
