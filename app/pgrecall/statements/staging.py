"""Rows on their way in: one bound row, or a temporary table filled through COPY."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

from sqlalchemy import (
    CreateTableAs,
    FromClause,
    Integer,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    false,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.memory import NewMemory
from pgrecall.schema import Tables

ORDINAL = "ordinal"
UNSET_FIELDS = "unset_fields"
"""Names of the fields that the database decides: None has a meaning of its own there."""
GIVEN = "new_"
"""What the parameters of the one bound row begin with."""


@lru_cache
def staged_fields() -> tuple[str, ...]:
    """The columns that are copied: every field a caller may set."""
    return tuple(field.name for field in fields(NewMemory) if field.name != "key")


@lru_cache
def create_staging(tables: Tables) -> CreateTableAs:
    """A table for rows on their way in, its columns those of the memories they will become."""
    return CreateTableAs(_nothing(tables), "pgrecall_staging", temporary=True)


def staging(tables: Tables) -> Table:
    return create_staging(tables).table


@lru_cache
def given_row(tables: Tables) -> FromClause:
    """One row from the parameters `new_<field>` and `unset_fields`, with ordinal 0."""
    columns = tables.memories.c
    row = select(
        literal_column("0", Integer()).label(ORDINAL),
        cast(bindparam(UNSET_FIELDS, type_=ARRAY(Text)), ARRAY(Text)).label(UNSET_FIELDS),
        *(
            bindparam(GIVEN + name, type_=columns[name].type).label(name)
            for name in staged_fields()
        ),
    )
    # The empty half gives the parameters their types, vector or halfvec among them.
    return union_all(_nothing(tables), row).subquery("incoming")


def _nothing(tables: Tables) -> Select[tuple[object, ...]]:
    """No row, of the columns' own types wherever the extension of the vectors is installed."""
    return select(
        literal_column("0", Integer()).label(ORDINAL),
        literal_column("'{}'::text[]", ARRAY(Text)).label(UNSET_FIELDS),
        *(tables.memories.c[name] for name in staged_fields()),
    ).where(false())
