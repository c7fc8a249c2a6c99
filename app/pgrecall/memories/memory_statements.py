"""Sends new memories: as arguments of `remember`, or by COPY into a temporary table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Double,
    Executable,
    Integer,
    Table,
    Text,
    Uuid,
    bindparam,
    false,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.core.memory import LABELS
from pgrecall.schema import Tables
from pgrecall.schema.fields import NEW
from pgrecall.schema.temporary_tables import CreateTemporaryTable
from pgrecall.schema.verbs import NOTE, columns_of, schema_function, verb

ORDINAL = "ordinal"
_FIELDS = tuple(field.name for field in NEW)
_ALWAYS = ("id", "content", "embedding")
_POLICY: Mapping[str, Any] = {
    "duplicates": Text(),
    "near_duplicates": Double(),
    "check_compliance": Boolean(),
    "actor": Text(),
    "supersede_subject": Boolean(),
    "run": Text(),
}

Staged = tuple[str, ...]
"""The fields that a batch sends, in table order; all other fields have their defaults."""


def statement_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `remember`, in the order of the fields."""
    return {name: values[name] for name in (*_FIELDS, LABELS) if name in values}


def _type(tables: Tables, name: str) -> Any:
    return JSONB() if name == LABELS else tables.memories.c[name].type


@lru_cache(maxsize=256)
def remember(tables: Tables, staged: Staged) -> Executable:
    """Stores one memory with these fields. Row: memory_id, outcome, similarity, same_subject,
    trust."""
    of_memory = {name: _type(tables, name) for name in staged}
    arguments = {"agent": Text(), **of_memory, **_POLICY}
    read: list[Any] = [literal_column(name) for name in columns_of("remember").split(", ")]
    owner: Any = bindparam("agent", type_=Text())
    stored = literal_column("memory_id", Uuid())
    trust: ColumnElement[Any] = schema_function(
        tables.schema, "trust_of", owner, stored, type_=Double()
    )
    return verb(tables, "remember", arguments, (*read, trust.label("trust")))


GIVEN = "new_"
"""Prefix of the parameters with the fields of a memory."""
_OF_BOTH = (("agent", Text()), ("check_compliance", Boolean()), *NOTE.items())
_OF_UPSERT = (*_OF_BOTH, ("run", Text()))
_OF_SUPERSEDE = (*_OF_BOTH, ("memory_id", Uuid()), ("force", Boolean()), ("metadata", JSONB()))


def supersede_statement(tables: Tables, staged: Staged) -> Executable:
    """Stores one memory with these fields in place of another.

    Row: successor, outcome, similarity. Parameters: agent, memory_id, force, check_compliance,
    reason, actor, metadata, and new_<field>.
    """
    return _with_memory(tables, "supersede", "new", staged, _OF_SUPERSEDE)


def upsert_statement(tables: Tables, staged: Staged) -> Executable:
    """Stores one memory with these fields, or gives them to the one that has its key.

    Row: memory_id, outcome. Parameters: agent, check_compliance, reason, actor, run, and
    new_<field>.
    """
    return _with_memory(tables, "upsert", "memory", staged, _OF_UPSERT)


@lru_cache(maxsize=256)
def _with_memory(
    tables: Tables,
    function: str,
    parameter: str,
    staged: Staged,
    options: tuple[tuple[str, Any], ...],
) -> Executable:
    """A call of a function that takes a memory with these fields, and these options."""
    schema = f'"{tables.schema}"'
    fields_ = ", ".join(f'"{name}" => :{GIVEN}{name}' for name in staged if name != LABELS)
    named = ", ".join(f"{name} => :{name}" for name, _ in options)
    read = columns_of(function)
    if LABELS in staged:
        named += f", {LABELS} => :{GIVEN}{LABELS}"
    written = (
        f"SELECT {read} FROM {schema}.{function}({named}, "  # noqa: S608  names of our own
        f"{parameter} => {schema}.new_memory({fields_}))"
    )
    types = {**dict(options), **{GIVEN + name: _type(tables, name) for name in staged}}
    return text(written).bindparams(
        *(bindparam(name, type_=type_) for name, type_ in types.items())
    )


def staged_fields(differing: Collection[str]) -> Staged:
    """The fields that a batch must send if these fields are not at their defaults in every row."""
    chosen = {*_ALWAYS, *differing}
    return tuple(name for name in (*_FIELDS, LABELS) if name in chosen)


@lru_cache(maxsize=256)
def create_staging(tables: Tables, staged: Staged) -> CreateTemporaryTable:
    """Creates the staging table, with the columns of agent_memories."""
    columns = tables.memories.c
    nothing = select(
        literal_column("0", Integer()).label(ORDINAL),
        *(
            columns[name] if name in columns else literal_column("'{}'::jsonb", JSONB()).label(name)
            for name in staged
        ),
    ).where(false())
    return CreateTemporaryTable(nothing, "pgrecall_staging")


def staging(tables: Tables, staged: Staged) -> Table:
    return create_staging(tables, staged).table


def all_staged(value: str) -> str:
    """An array of this for the staged rows with ordinals `first` to `last`."""
    return (
        f"(SELECT pg_catalog.array_agg({value} ORDER BY s.{ORDINAL}) "  # noqa: S608  names of our own
        f"FROM pg_temp.pgrecall_staging s WHERE s.{ORDINAL} BETWEEN :first AND :last)"
    )


@lru_cache(maxsize=256)
def remember_staged(tables: Tables, staged: Staged) -> Executable:
    """Stores the staged rows with ordinals `first` to `last`.

    Rows: ordinal (from 1 within this range), memory_id, outcome, similarity, same_subject.
    Parameters: agent, first, last and those of the policy.
    """
    schema = f'"{tables.schema}"'
    memory = ", ".join(f'"{name}" => s."{name}"' for name in staged if name != LABELS)
    arguments = {"memories": all_staged(f"{schema}.new_memory({memory})")}
    if LABELS in staged:
        arguments[LABELS] = all_staged(f"s.{LABELS}")
    arguments |= {name: f":{name}" for name in ("agent", *_POLICY)}
    named = ", ".join(f"{name} => {value}" for name, value in arguments.items())
    read = columns_of("remember_rows")
    written = f"SELECT {read} FROM {schema}.remember_rows({named})"  # noqa: S608  names of our own
    parameters = {"agent": Text(), "first": Integer(), "last": Integer(), **_POLICY}
    return text(written).bindparams(
        *(bindparam(name, type_=type_) for name, type_ in parameters.items())
    )
