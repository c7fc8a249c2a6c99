"""Reading memories without ranking them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from pgrecall import statements
from pgrecall.errors import MemoryNotFound
from pgrecall.filters import FilterArguments, Filters
from pgrecall.memory import Memory
from pgrecall.operations.question import narrowing
from pgrecall.quoting import shortened
from pgrecall.schema import Tables
from pgrecall.steps import Execute, Operation
from pgrecall.validation import require_aware, require_ids, require_name

_FIELDS = tuple(field.name for field in fields(Memory))


def get(
    tables: Tables, /, agent_id: str, memory_id: UUID, *, include_embedding: bool = False
) -> Operation[Memory | None]:
    """The agent's memory of this id, valid or not; None when there is none.

    Its embedding is left out unless asked for.
    """
    require_name("agent_id", agent_id)
    [memory_id] = require_ids([memory_id])
    rows = yield Execute(statements.get(tables, agent_id, memory_id, embedding=include_embedding))
    return memory(rows[0]._mapping) if rows else None


def existing_memory(tables: Tables, agent_id: str, memory_id: UUID) -> Operation[Memory]:
    """As `get`, but raises MemoryNotFound where there is none."""
    memory = yield from get(tables, agent_id, memory_id)
    if memory is None:
        raise MemoryNotFound(f"agent {shortened(agent_id)} has no memory {memory_id}")
    return memory


def count(
    tables: Tables,
    /,
    agent_id: str,
    *,
    as_of: datetime | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[int]:
    """How many memories a search with these filters would look at."""
    require_name("agent_id", agent_id)
    require_aware("as_of", as_of)
    chosen = yield from narrowing(tables, Filters.of(filters))
    parameters = {"owner_id": agent_id, **chosen.parameters}
    if as_of is not None:
        parameters["as_of"] = as_of
    rows = yield Execute(statements.count(tables, chosen, as_of=as_of is not None), parameters)
    return int(rows[0][0])


def existing(
    tables: Tables, /, agent_id: str, memory_ids: UUID | Iterable[UUID]
) -> Operation[set[UUID]]:
    """Which of these ids the agent has, so that only the others need embedding and adding."""
    require_name("agent_id", agent_id)
    ids = require_ids(memory_ids)
    rows = yield Execute(statements.existing(tables, agent_id, ids))
    return {row.id for row in rows}


def memory(row: Mapping[Any, Any]) -> Memory:
    """A row of `statements.memory_columns` as a record."""
    return Memory(**{name: row[name] for name in _FIELDS})
