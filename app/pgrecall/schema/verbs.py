"""Statements that call the functions in `sql/verbs`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

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
from sqlalchemy.types import TypeEngine

from pgrecall.schema import Tables
from pgrecall.schema.tables import COUNTERS, INTERNAL

NOTE: Mapping[str, Any] = {"reason": Text(), "actor": Text()}
TOUCH: Mapping[str, Any] = {"accessed": Boolean(), "durable": Boolean()}


def verb(
    tables: Tables,
    name: str,
    arguments: Mapping[str, TypeEngine[Any] | type[TypeEngine[Any]]],
    returns: tuple[ColumnElement[Any], ...] = (),
) -> Executable:
    """`SELECT … FROM name(argument => :argument, …)`; parameters are named like the arguments.

    `returns` are the columns to select, by default all.
    """
    return _verb(tables, name, tuple(arguments.items()), returns)


@lru_cache(maxsize=256)
def _verb(
    tables: Tables,
    name: str,
    arguments: tuple[tuple[str, Any], ...],
    returns: tuple[ColumnElement[Any], ...],
) -> Executable:
    given = ", ".join(f"{argument} => :{argument}" for argument, _ in arguments)
    call = f'"{tables.schema}".{name}({given})'
    binds = [bindparam(argument, type_=type_) for argument, type_ in arguments]
    if not returns:
        return text(f"SELECT * FROM {call}").bindparams(*binds)  # noqa: S608  names of our own
    return select(*returns).select_from(text(call).bindparams(*binds))


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
        func.current_setting("transaction_isolation").label("isolation"),
        func.now(type_=DateTime(timezone=True)).label("began_at"),
    )
    return verb(tables, "lift_limits", {}, returns)


@lru_cache
def restore_limits(tables: Tables) -> Executable:
    return verb(tables, "restore_limits", {"limits": ARRAY(Text())})


@lru_cache
def memory_record(tables: Tables) -> tuple[ColumnElement[Any], ...]:
    """The columns of the view memory_records: the fields of `Memory`, with a NULL embedding."""
    memories, usage = tables.memories.c, tables.memory_usage.c
    return (
        *(_read(c.name, c.type) for c in memories if c.name not in INTERNAL),
        *(_read(name, usage[name].type) for name in ("last_accessed_at", *COUNTERS)),
    )


def _read(name: str, type_: TypeEngine[Any]) -> ColumnElement[Any]:
    return literal_column("NULL" if name == "embedding" else name, type_).label(name)
