"""Checks the caller's own SQLAlchemy conditions, so that they cannot bypass the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnClause,
    ColumnElement,
    Table,
    TextClause,
    literal_column,
    select,
)
from sqlalchemy.sql.util import ClauseAdapter
from sqlalchemy.sql.visitors import iterate

from pgrecall.core.quoting import shortened
from pgrecall.core.statement import NAMED
from pgrecall.errors import InputError

Expression = ColumnElement[bool] | TextClause

_PARAMETER = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")|(?<!:):(?=\w)")

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


def require_condition(condition: object) -> Expression:
    """Raises InputError for what is not a condition or could bypass the other conditions.

    Raw SQL is trusted as the application's code. It is refused if it could close its brackets, but
    may read everything that the role can read.
    """
    if not isinstance(condition, ColumnElement | TextClause):
        raise InputError(f"filter takes SQLAlchemy expressions, got {type(condition).__name__}")
    for raw in _raw_texts(condition):
        _require_closed(raw)
    for element in iterate(condition):
        parameters = element._bindparams.values() if isinstance(element, TextClause) else (element,)
        for parameter in parameters:
            if isinstance(parameter, BindParameter) and parameter.required:
                raise InputError(f"filter: the parameter :{parameter.key} has no value")
    return condition


class Written(NamedTuple):
    """A condition as text, and the values of its parameters."""

    text: str
    values: dict[str, Any]


def written(memories: Table, condition: Expression, prefix: str, rows: str) -> Written:
    """The condition as text on rows of this name. Names of its parameters begin with the prefix."""
    rows_of = memories.alias(rows)
    adapter: Any = ClauseAdapter(rows_of)
    # Within a statement, so that a subquery knows that the memories are outside of it.
    whole: Any = select(literal_column("1")).select_from(rows_of).where(adapter.traverse(condition))
    compiled = whole.compile(dialect=NAMED, compile_kwargs={"render_postcompile": True})
    text = compiled.string.partition("\nWHERE ")[2]
    values = {}
    for name, value in compiled.construct_params(escape_names=False).items():
        base = name if name in compiled.binds else name.rpartition("_")[0]  # one of a list
        process = compiled.binds[base].type.dialect_impl(NAMED).bind_processor(NAMED)
        escaped = (compiled.escaped_bind_names or {}).get(name, name)
        values[prefix + escaped] = value if process is None else process(value)
    return Written(_PARAMETER.sub(lambda match: match[1] or f":{prefix}", text), values)


def _raw_texts(condition: Expression) -> Iterator[str]:
    for element in iterate(condition):
        if isinstance(element, TextClause):
            yield element.text
        elif isinstance(element, ColumnClause) and element.is_literal:
            yield element.name


def _require_closed(raw: str) -> None:
    bare = _QUOTED.sub("", raw)
    depth = 0
    for character in bare:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
    left = [mark for mark in ("--", "/*", ";", "'", '"', "\\") if mark in bare]
    if depth != 0 or left or re.search(r"\$\w*\$", bare) or "\\'" in raw:
        raise InputError(
            f"filter: raw SQL must close its own brackets and quotes, and hold no comment, "
            f"semicolon, backslash or dollar quote; got {shortened(raw)}"
        )
