"""Checks the caller's own SQLAlchemy conditions, so that they cannot bypass the others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnClause,
    ColumnElement,
    Table,
    TextClause,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql.psycopg import dialect
from sqlalchemy.sql.util import ClauseAdapter
from sqlalchemy.sql.visitors import iterate

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError
from pgrecall.scoring.signals import KINDS

Expression = ColumnElement[bool] | TextClause

_RESERVED = re.compile(
    r"(owner_id(_\d+)?|query|query_\w+|k|as_of|teams|id|ids|score|limit|text|min_\w+|no_similarity"
    r"|keyword_weight|candidates|reach|whole_teams|source_\d+_\w+|budget|most|floor|max_\w+"
    r"|block_length|per_\w+|reserved_\w+|diversity|weights?_\w+|speeds|candidate_numbers"
    r"|hit_\w+|measured_\w+|last_\d+"
    r"|ranked(_\w+)?|exact|expand_session|lend|whose|owners|(all|whole|worded)_owners"
    r"|accessed|durable|period_(from|to)"
    rf"|(compared|metadata|relevance|{'|'.join(KINDS)})(_\w+)?)"
)
"""Names of our own parameters besides those of the filters. A caller's parameter of the same name
would replace our value."""

_NAMED: Final = dialect(paramstyle="named")  # type: ignore[no-untyped-call]
_PARAMETER = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\")|(?<!:):(?=\w)")

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


def require_condition(condition: object, filters: Collection[str]) -> Expression:
    """Raises InputError for what is not a condition or could bypass the other conditions.

    Raw SQL is trusted as the application's code. It is refused if it could close its brackets, but
    may read everything that the role can read.
    """
    if not isinstance(condition, ColumnElement | TextClause):
        raise InputError(f"where takes SQLAlchemy expressions, got {type(condition).__name__}")
    for raw in _raw_texts(condition):
        _require_closed(raw)
    for element in iterate(condition):
        parameters = element._bindparams.values() if isinstance(element, TextClause) else (element,)
        for parameter in parameters:
            if isinstance(parameter, BindParameter):
                _require_own(parameter, filters)
    return condition


class Written(NamedTuple):
    """A condition as text on the rows `agent_memories`, and the values of its parameters."""

    text: str
    values: dict[str, Any]


def written(memories: Table, where: Sequence[Expression]) -> list[Written]:
    """Each condition as text. Names of parameters begin with `where_`."""
    rows = memories.alias(memories.name)
    adapter: Any = ClauseAdapter(rows)
    # Within a statement, so that a subquery knows that the memories are outside of it.
    whole: Any = select(literal_column("1")).select_from(rows)
    return [
        _written(whole.where(adapter.traverse(condition)), f"where_{number}_")
        for number, condition in enumerate(where, start=1)
    ]


def _written(whole: Any, prefix: str) -> Written:
    compiled = whole.compile(dialect=_NAMED, compile_kwargs={"render_postcompile": True})
    text = compiled.string.partition("\nWHERE ")[2]
    values = {}
    for name, value in compiled.params.items():
        base = name if name in compiled.binds else name.rpartition("_")[0]  # one of a list
        process = compiled.binds[base].type.dialect_impl(_NAMED).bind_processor(_NAMED)
        escaped = (compiled.escaped_bind_names or {}).get(name, name)
        values[prefix + escaped] = value if process is None else process(value)
    return Written(_PARAMETER.sub(lambda found: found[1] or f":{prefix}", text), values)


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
            f"where: raw SQL must close its own brackets and quotes, and hold no comment, "
            f"semicolon, backslash or dollar quote; got {shortened(raw)}"
        )


def _require_own(parameter: BindParameter[object], filters: Collection[str]) -> None:
    name = parameter.key
    if parameter.required:
        raise InputError(f"where: the parameter :{name} has no value")
    if not parameter.unique and (name in filters or _RESERVED.fullmatch(name)):
        raise InputError(f"where: the search itself has a parameter :{name}; rename yours")
