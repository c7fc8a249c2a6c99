"""Rows on their way in: one bound row, or a temporary table filled through COPY."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    false,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.memory import NewMemory
from pgrecall.schema import Tables
from pgrecall.statements.temporary_tables import CreateTemporaryTable

ORDINAL = "ordinal"
UNSET_FIELDS = "unset_fields"
"""Names of the fields that the database decides: None has a meaning of its own there."""
GIVEN = "new_"
"""What the parameters of the one bound row begin with."""
ALWAYS_STAGED = ("id", "content", "embedding")

Staged = tuple[str, ...]
"""The fields that a batch copies, in the order of the table's; the others are at their defaults."""


@lru_cache
def memory_fields() -> tuple[str, ...]:
    """Every field that a caller may set and the database stores."""
    return tuple(field.name for field in fields(NewMemory) if field.name != "key")


def staged_fields(differing: Collection[str]) -> Staged:
    """What a batch has to copy when these fields are not at their defaults in all its rows."""
    chosen = {*ALWAYS_STAGED, *differing}
    return tuple(name for name in (UNSET_FIELDS, *memory_fields()) if name in chosen)


@lru_cache(maxsize=256)
def create_staging(tables: Tables, staged: Staged) -> CreateTemporaryTable:
    """A table for rows on their way in, its columns those of the memories they will become."""
    return CreateTemporaryTable(_nothing(tables, staged), "pgrecall_staging")


def staging(tables: Tables, staged: Staged) -> Table:
    return create_staging(tables, staged).table


def rows_of(tables: Tables, staged: Staged | None) -> FromClause:
    """Where incoming rows are: in the staging table, or without one, bound one by one."""
    return _given_row(tables) if staged is None else staging(tables, staged)


def field_of(tables: Tables, rows: FromClause, name: str) -> ColumnElement[Any]:
    """A field of incoming rows: as it was given, or what the table says by default."""
    if name in rows.c:
        return rows.c[name]
    column: Column[Any] = tables.memories.c[name]
    default: Any = getattr(column.server_default, "arg", None)
    given = null() if default is None else literal_column(str(default))
    return cast(given, column.type)


def unset_fields(rows: FromClause) -> ColumnElement[Any]:
    """The names of the fields that are unset, of each row or, bound, of all."""
    if UNSET_FIELDS in rows.c:
        return rows.c[UNSET_FIELDS]
    return cast(bindparam(UNSET_FIELDS, type_=ARRAY(Text)), ARRAY(Text))


@lru_cache
def _given_row(tables: Tables) -> FromClause:
    """One row from the parameters `new_<field>`, with ordinal 0."""
    columns = tables.memories.c
    row = select(
        literal_column("0", Integer()).label(ORDINAL),
        *(
            bindparam(GIVEN + name, type_=columns[name].type).label(name)
            for name in memory_fields()
        ),
    )
    # The empty half gives the parameters their types, vector or halfvec among them.
    return union_all(_nothing(tables, memory_fields()), row).subquery("incoming")


def _nothing(tables: Tables, names: tuple[str, ...]) -> Select[tuple[object, ...]]:
    """No row, of the columns' own types wherever the extension of the vectors is installed."""
    unset = literal_column("'{}'::text[]", ARRAY(Text)).label(UNSET_FIELDS)
    return select(
        literal_column("0", Integer()).label(ORDINAL),
        *(unset if name == UNSET_FIELDS else tables.memories.c[name] for name in names),
    ).where(false())
