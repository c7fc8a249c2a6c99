"""Reads memories without ranking them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core.ids import id_of_key
from pgrecall.core.memory import Memory, memory_in_full
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_count,
    require_id,
    require_ids,
    require_name,
    require_text,
)
from pgrecall.errors import InputError
from pgrecall.ranking.composing import UNFILTERED, reads
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.question import narrowing
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner

FEWEST_DIGITS, SHOWN_DIGITS = 4, 8
"""The fewest hexadecimal digits of an id that can be looked up, and that are shown."""
MOST_IDS = 1_000
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
    rows = yield _in_full(tables, agent_id, include_embedding, id=one)
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
    given = [memory_ids] if isinstance(memory_ids, UUID | str) else memory_ids
    require_bool("include_embedding", include_embedding)
    rows = yield _in_full(tables, agent_id, include_embedding, "several", ids=ids)
    found = {row.id: memory_in_full(row) for row in rows}
    return {one: found[one] for one in map(require_id, given) if one in found}


def _in_full(
    tables: Tables, owner_id: str, include_embedding: bool, *options: str, **ids: Any
) -> Run:
    chosen = (*options, *(["vectors"] if include_embedding else []))
    places = {"order": "one.id"}
    return reads(tables, "get", UNFILTERED, *chosen, places=places, owner_id=owner_id, **ids)


def _of_key(agent_id: str, memory_id: object, key: str) -> UUID:
    if memory_id is not None:
        raise InputError("name a memory by its id or by its key, not by both")
    return id_of_key(agent_id, require_name("key", key))


@needs(READS)
def key_id(tables: Tables, /, agent_id: str | UUID, key: str) -> Operation[UUID]:
    """The id that belongs to a key, for methods that take ids. There need not be such a memory."""
    agent_id = require_owner(tables, agent_id)
    yield from ()  # no statement
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
    """How many memories a search with these filters would rank."""
    agent_id = require_owner(tables, agent_id)
    require_aware("as_of", as_of)
    chosen = yield from narrowing(tables, Filters.of(filters))
    rows = yield reads(tables, "count", chosen, as_of=as_of, owner_id=agent_id)
    return int(rows[0][0])


@needs(READS)
def existing(
    tables: Tables, /, agent_id: str | UUID, memory_ids: UUID | str | Iterable[UUID | str]
) -> Operation[set[UUID]]:
    """The ids among these that the agent has; only the others need embedding and adding."""
    agent_id = require_owner(tables, agent_id)
    ids = require_ids(memory_ids)
    rows = yield reads(tables, "ids_stored", owner_id=agent_id, ids=ids)
    return {row.id for row in rows}


@needs(READS)
def find_ids(
    tables: Tables, /, agent_id: str | UUID, prefix: str, *, limit: int = 10
) -> Operation[list[UUID]]:
    """The ids of the agent's memories that begin with these hexadecimal digits, in order.

    Needs at least 4 digits, with or without hyphens. Raises InputError.
    """
    agent_id = require_owner(tables, agent_id)
    require_count("limit", limit, at_least=1, at_most=MOST_IDS)
    digits = require_text("prefix", prefix).replace("-", "").lower()
    if not re.fullmatch(rf"[0-9a-f]{{{FEWEST_DIGITS},32}}", digits):
        raise InputError(
            f"{shortened(prefix)} is neither the id of a memory nor its first digits "
            f"({FEWEST_DIGITS} or more)"
        )
    rows = yield reads(
        tables,
        "ids_within",
        owner_id=agent_id,
        first=UUID(digits.ljust(32, "0")),
        last=UUID(digits.ljust(32, "f")),
        limit=limit,
    )
    return [row.id for row in rows]


@needs(READS)
def short_ids(
    tables: Tables, /, agent_id: str | UUID, memory_ids: UUID | str | Iterable[UUID | str]
) -> Operation[dict[UUID, str]]:
    """The shortest unique beginning of each id among the agent's memories, at least 8 digits.

    Ids made at about the same time begin alike, so their beginnings are longer. `find` returns the
    whole id, until another memory is added whose id begins in the same way.
    """
    agent_id = require_owner(tables, agent_id)
    ids = require_ids(memory_ids)
    rows = yield reads(tables, "ids_beside", owner_id=agent_id, ids=ids)
    return {row.id: _shortest(row.id, (row.before, row.after)) for row in rows}


def _shortest(id_: UUID, others: Sequence[UUID | None]) -> str:
    """The shortest beginning that differs from the neighbouring ids, which are the most similar."""
    shared = [(128 - (id_.int ^ other.int).bit_length()) // 4 for other in others if other]
    digits = max(SHOWN_DIGITS, 1 + max(shared, default=0))
    hyphens = sum(digits > place for place in (8, 12, 16, 20))
    return str(id_)[: digits + hyphens]
