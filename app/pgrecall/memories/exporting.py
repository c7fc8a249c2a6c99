"""Exports memories with all that belongs to them, as lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core.limits import MAX_BATCH
from pgrecall.core.quoting import shortened
from pgrecall.core.statement import Statement
from pgrecall.core.steps import SNAPSHOT, Ask, Operation, Run, needs
from pgrecall.core.validation import (
    in_list,
    require_bool,
    require_callable,
    require_count,
    require_id,
)
from pgrecall.errors import InputError
from pgrecall.ranking import passing
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.passing import reads
from pgrecall.ranking.question import checked_filters
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call

BATCH_SIZE = 500
MOST_BATCH_BYTES = 8 * 2**20
"""After this much text a batch ends, so that long memories do not need more RAM than short ones."""
_BEFORE_ALL = UUID(int=0)


@needs(SNAPSHOT)
def export(
    tables: Tables,
    /,
    write: Callable[[list[str]], Any],
    *,
    agent_id: str | UUID | Sequence[str | UUID] | None = None,
    after: tuple[str | UUID, UUID | str] | None = None,
    events: bool = False,
    batch_size: int = BATCH_SIZE,
    **filters: Unpack[FilterArguments],
) -> Operation[int]:
    """Passes each memory to `write` as a line of JSON, and returns how many there were.

    `write` is called with up to `batch_size` lines at a time; a coroutine function is awaited by
    the asynchronous repository. `transfer.restore` and `pgrecall import` make the same memory of a
    line, with `events` also its history.

    The memories are those of one agent, of several, or of every agent and team. Without a `filter`
    all are exported; with one, those that are active, valid and pass it, and with
    `include_inactive` also others that pass. They come agent by
    agent in the order of their ids. `after`, the owner (`team:<id>` for a team) and the id of a
    memory, begins behind it.

    On an Engine, all lines show the database at one moment. Once `write` has been called, nothing
    is retried. Raises InputError.
    """
    require_callable("write", write)
    if write is None:
        raise InputError("write must be a function, got None")
    require_bool("events", events)
    require_count("batch_size", batch_size, at_least=1, at_most=MAX_BATCH)
    named = _named(tables, agent_id)
    owner_id, last_id = _begin(after, named)
    every = filters.get("filter") is None
    chosen = yield from checked_filters(tables, {"include_inactive": every, **filters})
    exported = 0
    if owner_id is None:
        owner_id = yield from _next(tables, named, None)
    while owner_id is not None:
        lines = partial(reads, tables, passing.export, chosen, owner_id=owner_id, events=events)
        begin = {"agent": owner_id, "many": batch_size, "most_bytes": MOST_BATCH_BYTES}
        following = partial(call, tables, "next_exported", **begin)
        while ids := [row[0] for row in (yield following(after=last_id))]:
            rows = yield lines(ids=ids)
            if rows:
                yield Ask(write, ([row.line for row in rows],))
            exported += len(rows)
            last_id = ids[-1]
        owner_id, last_id = (yield from _next(tables, named, owner_id)), _BEFORE_ALL
    return exported


def _named(tables: Tables, agent_id: object) -> list[str] | None:
    """The owners that are named, each once; None for all."""
    if agent_id is None:
        return None
    several = None if isinstance(agent_id, Mapping) else in_list(agent_id)
    owner_ids = [agent_id] if several is None else several
    if not owner_ids:
        raise InputError("agent_id must name an agent, got an empty list")
    return list(dict.fromkeys(require_owner(tables, one) for one in owner_ids))


def _begin(after: object, named: list[str] | None) -> tuple[str | None, UUID]:
    """The owner and the id to begin behind; no owner for the first one."""
    if after is None:
        return None, _BEFORE_ALL
    if not isinstance(after, tuple) or len(after) != 2 or not isinstance(after[0], str | UUID):
        raise InputError(f"after must be an owner and an id, got {shortened(after)}")
    owner_id, last_id = str(after[0]), require_id(after[1])
    if named is not None and owner_id not in named:
        raise InputError(f"after names {shortened(owner_id)}, which is not exported")
    return owner_id, last_id


def _next(tables: Tables, named: list[str] | None, owner_id: str | None) -> Operation[str | None]:
    """The owner behind this one, or the first one."""
    if named is not None:
        rest = named if owner_id is None else named[named.index(owner_id) + 1 :]
        return rest[0] if rest else None
    while True:
        [row] = yield Run(_owner_behind(tables), {"owner_id": owner_id or ""})
        owner_id = row.owner_id
        if owner_id is None or owner_id.startswith(tables.prefix):
            return owner_id


@lru_cache
def _owner_behind(tables: Tables) -> Statement:
    """The first owner behind `owner_id`; one lookup in the primary key."""
    text = "SELECT pg_catalog.min(m.agent_id) AS owner_id"
    return Statement(f'{text} FROM "{tables.schema}".agent_memories m WHERE m.agent_id > :owner_id')
