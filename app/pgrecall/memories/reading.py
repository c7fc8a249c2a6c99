"""Reads memories without ranking them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Unpack
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, and_, any_, bindparam, select

from pgrecall.core.ids import id_of_key
from pgrecall.core.memory import Memory, memory_in_full
from pgrecall.core.statement import Statement
from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_id,
    require_ids,
    require_name,
)
from pgrecall.errors import InputError
from pgrecall.ranking import passing
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.passing import OWNER, memories_of, reads
from pgrecall.ranking.question import checked_filters
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner

NAMED = "a memory's id, if there is no key,"


@needs(READS)
def get(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str | None = None,
    *,
    key: str | None = None,
    include_embedding: bool = False,
) -> Operation[Memory | None]:
    """The agent's memory of this id or key, valid or not; None if there is none.

    Its embedding is only read with `include_embedding`.
    """
    agent_id = require_owner(tables, agent_id)
    one = require_id(memory_id, NAMED) if key is None else _of_key(agent_id, memory_id, key)
    require_bool("include_embedding", include_embedding)
    rows = yield _in_full(tables, agent_id, include_embedding, one)
    return memory_in_full(rows[0]) if rows else None


@needs(READS)
def get_many(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    include_embedding: bool = False,
) -> Operation[dict[UUID, Memory]]:
    """The agent's memories with these ids, valid or not, by id, in the order of the arguments."""
    agent_id = require_owner(tables, agent_id)
    ids = require_ids(memory_ids)
    named = [memory_ids] if isinstance(memory_ids, UUID | str) else memory_ids
    require_bool("include_embedding", include_embedding)
    rows = yield _in_full(tables, agent_id, include_embedding, ids)
    memories = {row.id: memory_in_full(row) for row in rows}
    return {one: memories[one] for one in map(require_id, named) if one in memories}


def _in_full(tables: Tables, owner_id: str, include_embedding: bool, ids: UUID | list[UUID]) -> Run:
    several = isinstance(ids, list)
    statement = _by_key(tables, include_embedding, several)
    return Run(statement, {"owner_id": owner_id, "ids" if several else "id": ids})


@lru_cache
def _by_key(tables: Tables, vectors: bool, several: bool) -> Statement:
    """Memories in full by their ids. One id is compared alone: PostgreSQL caches no plan for an
    array that turns out to have one element."""
    memories = memories_of(tables)
    m, u = memories.m.c, memories.u.c
    columns = memories.in_full
    if vectors:
        columns.append(m.embedding.label("vector"))
    given = bindparam("ids", type_=ARRAY(Uuid)) if several else bindparam("id", type_=Uuid())
    same = and_(u.agent_id == OWNER, u.memory_id == m.id)
    named = m.id == any_(given) if several else m.id == given
    rows = select(*columns).select_from(memories.m.outerjoin(memories.u, same))
    return Statement.of("get", rows.where(m.agent_id == OWNER, named).order_by(m.id))


def _of_key(agent_id: str, memory_id: object, key: str) -> UUID:
    if memory_id is not None:
        raise InputError("name a memory by its id or by its key, not by both")
    return id_of_key(agent_id, require_name("key", key))


@needs(READS)
def count(
    tables: Tables,
    /,
    agent_id: str | UUID,
    *,
    as_of: datetime | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[int]:
    """The number of memories that a search with these filters would rank."""
    agent_id = require_owner(tables, agent_id)
    require_aware("as_of", as_of)
    chosen = yield from checked_filters(tables, filters)
    rows = yield reads(tables, passing.count, chosen, as_of=as_of, owner_id=agent_id)
    return int(rows[0][0])


@needs(READS)
def stored_ids(tables: Tables, /, owner_id: str, ids: Sequence[UUID]) -> Operation[list[UUID]]:
    """The ids among these that the owner has."""
    return [*(yield from stored_trust(tables, owner_id, ids))]


def stored_trust(
    tables: Tables, owner_id: str, ids: Sequence[UUID]
) -> Operation[dict[UUID, float | None]]:
    """Those of these ids that are memories of the owner, with their stored trust."""
    rows = yield Run(_stored(tables), {"owner_id": owner_id, "ids": ids})
    return {row.id: row.trust for row in rows}


@lru_cache
def _stored(tables: Tables) -> Statement:
    m = tables.memories.c
    named = m.id == any_(bindparam("ids", type_=ARRAY(Uuid)))
    return Statement.of("stored", select(m.id, m.trust).where(m.agent_id == OWNER, named))
