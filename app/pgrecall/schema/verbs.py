"""Statements that call the functions in `sql/verbs`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar

from sqlalchemy import (
    Boolean,
    ColumnElement,
    DateTime,
    Executable,
    Text,
    Uuid,
    bindparam,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import Function
from sqlalchemy.types import TypeEngine

from pgrecall.core.steps import Run
from pgrecall.schema import Tables
from pgrecall.schema.fields import FIELD, ROW

T = TypeVar("T")
_COUNTED = "memories, counters, labels, links, events"
_COLLECTED = "scanned, archived, deleted, swept, events, runs"
COLUMNS: Final[Mapping[str, str]] = {
    "collect_garbage_batch": f"{_COLLECTED}, last_id, more",
    "consolidate_memories": "memory_id, source_ids, importance",
    "count_garbage": _COLLECTED,
    "count_owner": f"{_COUNTED}, positions, runs",
    "end_garbage_run": "runs, seconds",
    "erase": f"{_COUNTED}, positions, mentions, derived",
    "erase_owner_batch": f"{_COUNTED}, positions, runs, more",
    "labels": "value, kind, weight",
    "large_owners": "agent_id",
    "links": "source_id, target_id, kind, weight",
    "near_duplicates": "older_id, newer_id, older_content, newer_content, similarity",
    "owners": "agent_id, memories",
    "owners_of_memories": "agent_id, has_memories",
    "rank_index_states": "agent_id, due, shrunk, relation, space, as_of, built_at, "
    "written_until, memories, used_at_least, m, ef_construction, seconds, candidates, written, "
    "changed, used, bytes, has_words",
    "recorded_queries": "query, memory_ids, as_of",
    "remember": "memory_id, outcome, similarity, same_subject",
    "remember_rows": "ordinal, memory_id, outcome, similarity, same_subject",
    "restore_rows": "ordinal, memory_id, outcome",
    "supersede": "successor, outcome, similarity",
    "upsert": "memory_id, outcome",
}
"""The columns to read of functions that return several. Never `*`: a column that a later release
adds would change the type of results that sessions have prepared (ADR-0030)."""
MOST_VERBS = 256
_verbs: dict[Any, Executable] = {}
"""By the function and the names of its arguments, whose types are always the same."""
NOTE: Mapping[str, Any] = {"reason": Text(), "actor": Text()}
TOUCH: Mapping[str, Any] = {"accessed": Boolean(), "durable": Boolean()}


def verb(
    tables: Tables,
    name: str,
    arguments: Mapping[str, TypeEngine[Any] | type[TypeEngine[Any]]],
    returns: tuple[ColumnElement[Any], ...] = (),
) -> Executable:
    """`SELECT … FROM name(argument => :argument, …)`; parameters are named like the arguments.

    `returns` are the columns to select, by default those of COLUMNS, or the function's only one.
    """
    key = tables, name, tuple(arguments), returns
    if key not in _verbs:
        if len(_verbs) >= MOST_VERBS:
            _verbs.clear()
        _verbs[key] = _verb(tables, name, arguments, returns)
    return _verbs[key]


def call_of(tables: Tables, types: Mapping[str, Any], name: str, **arguments: Any) -> Run:
    """Calls the function with these arguments, whose types are among `types`."""
    return Run(verb(tables, name, {argument: types[argument] for argument in arguments}), arguments)


def _verb(
    tables: Tables,
    name: str,
    arguments: Mapping[str, TypeEngine[Any] | type[TypeEngine[Any]]],
    returns: tuple[ColumnElement[Any], ...],
) -> Executable:
    given = ", ".join(f"{argument} => :{argument}" for argument in arguments)
    call = f'"{tables.schema}".{name}({given})'
    binds = [bindparam(argument, type_=type_) for argument, type_ in arguments.items()]
    if not returns:
        return text(f"SELECT {columns_of(name)} FROM {call}").bindparams(*binds)  # noqa: S608  ours
    return select(*returns).select_from(text(call).bindparams(*binds))


def columns_of(name: str) -> str:
    """The columns to select from a function."""
    return COLUMNS.get(name, name)


@lru_cache
def touch_statement(tables: Tables) -> Executable:
    """Counts one retrieval of each of `memory_ids` and returns how many of them exist.

    Parameters: agent, memory_ids, accessed (whether last_accessed_at is set too), durable (whether
    the commit waits until it is on disk).
    """
    arguments: Mapping[str, Any] = {"agent": Text(), "memory_ids": ARRAY(Uuid), **TOUCH}
    return verb(tables, "touch", arguments)


@lru_cache
def lift_limits(tables: Tables) -> Executable:
    """Turns off the limits of time for this transaction; returns what they were as `limits`, its
    isolation level, and when it began."""
    returns = (
        literal_column("lift_limits", ARRAY(Text())).label("limits"),
        literal_column("pg_catalog.current_setting('transaction_isolation')", Text()).label(
            "isolation"
        ),
        func.now(type_=DateTime(timezone=True)).label("began_at"),
    )
    return verb(tables, "lift_limits", {}, returns)


@lru_cache
def restore_limits(tables: Tables) -> Executable:
    return verb(tables, "restore_limits", {"limits": ARRAY(Text())})


@lru_cache
def memory_record(tables: Tables) -> tuple[ColumnElement[Any], ...]:
    """The fields of `Memory` in their order, of the view memory_records; the embedding is NULL."""
    return tuple(
        literal_column(
            "NULL" if name == "embedding" else name,
            (tables.memory_usage if FIELD[name].part == "usage" else tables.memories).c[name].type,
        ).label(name)
        for name in ROW
    )


def schema_function(
    schema: str, name: str, *arguments: ColumnElement[Any], type_: TypeEngine[T]
) -> ColumnElement[T]:
    """A call of one of our functions; with an empty schema it is found by the search_path."""
    return _Call(name, *arguments, type_=type_, packagenames=(schema,) if schema else ())


class _Call(Function[Any]):
    """A function call whose schema is quoted if necessary; SQLAlchemy never quotes it."""

    inherit_cache = True


@compiles(_Call)
def _written(call: _Call, compiler: SQLCompiler, **options: Any) -> str:
    qualified = [compiler.preparer.quote(part) for part in (*call.packagenames, call.name)]
    return ".".join(qualified) + compiler.process(call.clause_expr, **options)
