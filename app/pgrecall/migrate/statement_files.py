"""The SQL functions that compose statements for psql, generated from `sql/statements`."""

from __future__ import annotations

from collections.abc import Iterator

from pgrecall.migrate.score_function import quoted_lines
from pgrecall.schema.composer import (
    FILTERING,
    ONLY_IN_PYTHON,
    RANKING,
    Line,
    blocks,
    derived,
    entries,
)

_STATEMENTS = (*RANKING, *FILTERING)
_BETWEEN_LINES, _BETWEEN_TABLES, _NOTHING = r"E'\n'", "', '", "''"

MOST_ARGUMENTS = 90


def composing_functions() -> str:
    """CREATE FUNCTION of `statement_options`, `statement_file` and `statement_text`, which do what
    `schema.composer` does. PL/pgSQL prepares an arm of a CASE when it is first executed."""
    files = dict.fromkeys(file for name in _STATEMENTS for _, file in entries(name))
    texts = (_arm(file, _joined(map(_block, _shared(file)), _BETWEEN_LINES)) for file in files)
    return "\n".join(
        (
            _function(
                "statement_options(given text[]) RETURNS text[]",
                [*map(_option, derived()), "RETURN given;"],
                "Options of a statement, with those that follow from them.",
            ),
            _function(
                "statement_file(file text, options text[]) RETURNS text",
                ["CASE file", *texts, "END CASE;"],
                "A part of a statement: a common table expression, or the last SELECT. Lines that "
                "need an option that is not on are left out.",
            ),
            _function(
                "statement_text(name text, options text[]) RETURNS text",
                ["CASE name", *(_arm(name, _statement(name)) for name in _STATEMENTS), "END CASE;"],
                "A statement with these options, made of the files that it lists.",
            ),
        )
    )


def _shared(file: str) -> Iterator[Line]:
    """The lines of a file that statements of psql may have."""
    return (line for line in blocks(file) if line.needs.isdisjoint(ONLY_IN_PYTHON))


def _function(signature: str, body: list[str], comment: str) -> str:
    lines = "\n".join(body)  # not indented: literals have several lines
    name = signature.partition("(")[0]
    return f"""\
CREATE OR REPLACE FUNCTION {signature}
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET jit = off AS $function$
BEGIN
{lines}
END
$function$;

COMMENT ON FUNCTION {name} IS
    '{comment}';
"""


def _option(line: Line) -> str:
    condition = _condition(line).replace("options", "given")
    return f"IF {condition} THEN given := given || '{line.name}'::text; END IF;"


def _arm(name: str, value: str) -> str:
    return f"WHEN '{name}' THEN\n    RETURN {value};"


def _statement(name: str) -> str:
    tables: list[str] = []
    ends: list[str] = []
    for head, file in entries(name):
        text = f"statement_file('{file}', options)"
        if head.text:
            form = rf"E'{head.text} (\n    %s\n)'"
            text = rf"format({form}, replace({text}, E'\n', E'\n    '))"
        (tables if head.text else ends).append(_if(head, text))
    last = _joined(iter(ends), _NOTHING)
    if not tables:
        return last
    return rf"concat('WITH ', {_joined(iter(tables), _BETWEEN_TABLES)}, E'\n', {last})"


def _block(line: Line) -> str:
    return _if(line, quoted_lines(line.text))


def _if(line: Line, value: str) -> str:
    condition = _condition(line)
    return f"CASE WHEN {condition} THEN {value} END" if condition else value


def _condition(line: Line) -> str:
    needs, excludes = sorted(line.needs), sorted(line.excludes)
    return " AND ".join(
        (
            *([f"options @> '{{{','.join(needs)}}}'"] if needs else []),
            *([f"NOT options && '{{{','.join(excludes)}}}'"] if excludes else []),
        )
    )


def _joined(values: Iterator[str], between: str) -> str:
    """The values that are not NULL. A function takes at most 100 arguments, and each part of fewer
    must be NULL if all of it is."""
    parts = list(values)
    if len(parts) > MOST_ARGUMENTS:
        several = (parts[at : at + MOST_ARGUMENTS] for at in range(0, len(parts), MOST_ARGUMENTS))
        parts = [f"nullif({_joined(iter(part), between)}, '')" for part in several]
    text = ",\n        ".join(parts)
    return f"concat_ws({between},\n        {text})"
