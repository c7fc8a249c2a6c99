"""Sends new memories: as arguments of functions, or by COPY into a temporary table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from functools import lru_cache
from typing import Any

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Copy, Rows, Run
from pgrecall.memories.embed import Incoming, Policy
from pgrecall.schema import Tables
from pgrecall.schema.fields import NEW, TABLE
from pgrecall.schema.verbs import call, columns_of, in_json

STAGING = "pg_temp.pgrecall_staging"
DROP_STAGING = Run(Statement(f"DROP TABLE {STAGING}"))
_FIELDS = tuple(field.name for field in NEW)
_POLICY = tuple(field.name for field in fields(Policy))
_ALWAYS = ("id", "content", "embedding")
_TYPES = {field.name: field.kind.type for field in TABLE}

Staged = tuple[str, ...]
"""The fields that a batch sends, in table order; all other fields have their defaults."""


def remember(tables: Tables, agent_id: str, memory: Incoming, policy: Policy) -> Run:
    """Stores one memory. Row: memory_id, outcome, similarity, same_subject, trust."""
    trust = f'"{tables.schema}".trust_of(:agent, memory_id) AS trust'
    returning = f"{columns_of('remember')}, {trust}"
    fields = {name: memory[name] for name in _FIELDS if name in memory}
    return call(tables, "remember", returning, agent=agent_id, **fields, **policy.arguments)


def with_memory(
    tables: Tables, function: str, parameter: str, memory: Incoming, **arguments: Any
) -> Run:
    """Calls a function that takes a memory as this parameter, and these arguments."""
    fields = {f"new_{name}": memory[name] for name in _FIELDS if name in memory}
    names = tuple(arguments), tuple(fields)
    both = arguments | fields
    return Run(_with_memory(tables.schema, function, parameter, *names, in_json(both)), both)


@lru_cache(maxsize=256)
def _with_memory(
    schema: str,
    function: str,
    parameter: str,
    arguments: Collection[str],
    fields: Collection[str],
    typed: Collection[str],
) -> Statement:
    def named(names: Collection[str]) -> str:
        casts = {name: "::jsonb" if name in typed else "" for name in names}
        each = (f'"{name.removeprefix("new_")}" => :{name}{cast}' for name, cast in casts.items())
        return ", ".join(each)

    return Statement(
        f'/* pgrecall {function} */ SELECT {columns_of(function)} FROM "{schema}".{function}('  # noqa: S608  ours
        f'{named(arguments)}, {parameter} => "{schema}".new_memory({named(fields)}))'
    )


def staged_fields(differing: Collection[str]) -> Staged:
    """The fields that a batch must send if these fields are not at their defaults in every row."""
    chosen = {*_ALWAYS, *differing}
    return tuple(name for name in _FIELDS if name in chosen)


@lru_cache(maxsize=256)
def create_staging(tables: Tables, staged: Staged) -> Statement:
    """Creates the staging table, with the columns of agent_memories and jsonb for others."""
    columns = (f'm."{name}"' if name in _TYPES else f"'{{}}'::jsonb AS {name}" for name in staged)
    return Statement(
        f"CREATE TEMPORARY TABLE pgrecall_staging AS SELECT 0 AS ordinal, {', '.join(columns)} "  # noqa: S608  ours
        f'FROM "{tables.schema}".agent_memories m WHERE false'
    )


def copy_staged(staged: Staged, rows: Rows) -> Copy:
    """Copies rows of an ordinal and these fields into the staging table."""
    types = {name: _TYPES.get(name, "jsonb") for name in staged}
    return Copy("pgrecall_staging", {"ordinal": "integer", **types}, rows)


def all_staged(value: str) -> str:
    """An array of this for the staged rows with ordinals `first` to `last`."""
    return (
        f"(SELECT pg_catalog.array_agg({value} ORDER BY s.ordinal) "  # noqa: S608  names of our own
        f"FROM {STAGING} s WHERE s.ordinal BETWEEN :first AND :last)"
    )


@lru_cache(maxsize=256)
def remember_staged(tables: Tables, staged: Staged) -> Statement:
    """Stores the staged rows with ordinals `first` to `last`.

    Rows: ordinal (from 1 within this range), memory_id, outcome, similarity, same_subject.
    Parameters: agent, first, last and those of the policy.
    """
    schema = f'"{tables.schema}"'
    memory = ", ".join(f'"{name}" => s."{name}"' for name in staged)
    values = {"memories": all_staged(f"{schema}.new_memory({memory})")}
    values |= {name: f":{name}" for name in ("agent", *_POLICY)}
    named = ", ".join(f"{name} => {value}" for name, value in values.items())
    return Statement(
        f"/* pgrecall remember_rows */ SELECT {columns_of('remember_rows')} "  # noqa: S608  ours
        f"FROM {schema}.remember_rows({named})"
    )
