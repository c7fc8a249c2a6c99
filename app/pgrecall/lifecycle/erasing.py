"""Erasure: leaves nothing of a memory or of an owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from pgrecall.core.limits import MAX_BATCH
from pgrecall.core.statement import Statement
from pgrecall.core.steps import VERB, Ask, Job, Operation, Part, Run, needs, says_how_far
from pgrecall.core.validation import require_bool, require_callable, require_count, require_ids
from pgrecall.errors import DatabaseError
from pgrecall.ranking.owner_facts import owner_facts
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many rows of each table an erasure removed or, with dry_run, would remove."""

    dry_run: bool = False
    memories: int = 0
    counters: int = 0
    """Rows of memory_usage."""
    links: int = 0
    events: int = 0
    """Rows of the history."""
    positions: int = 0
    """Positions in the rank index."""
    mentions: int = 0
    """Where other memories and their history named an erased one: as successor or end of a link."""
    runs: int = 0
    """Rows of maintenance_runs; only an owner's erasure removes them."""
    derived: tuple[UUID, ...] = ()
    """Memories that consolidate erased ones. They may contain the same text, and are not erased."""

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return asdict(self) | {"derived": [str(one) for one in self.derived]}


BATCH_SIZE = 1_000
_OF_MEMORIES = ("memories", "counters", "links", "events", "positions")
_MAY_VACUUM = Statement(
    "SELECT pg_has_role(c.relowner, 'USAGE') AS may "
    "  FROM pg_class c WHERE c.oid = to_regclass(:memories)"
)
"""True if the role owns our tables: VACUUM skips others."""


@needs(VERB)
def erase(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    dry_run: bool = False,
    vacuum: bool = False,
) -> Operation[Erased]:
    """Deletes memories and everything of them, including their history. Returns how many rows.

    `delete` keeps the history, which may contain texts; `erase` also removes that of memories that
    were deleted before. Memories that consolidate erased ones may contain the same text. They stay;
    `derived` lists them. Ids that the agent never had are ignored. `dry_run` changes nothing, but
    locks the memories meanwhile.

    PostgreSQL keeps deleted rows on disk until VACUUM; see Personal data, "Erase". `vacuum` runs
    VACUUM (ANALYZE) on the tables and on the agent's rank index afterwards, also without ids. Only
    the owner of the schema may, on an Engine.
    """
    agent_id = require_owner(tables, agent_id)
    require_bool("dry_run", dry_run)
    require_bool("vacuum", vacuum)
    ids = require_ids(memory_ids)
    if vacuum:
        yield from _require_vacuum(tables)
    erased = (yield from _erase(tables, agent_id, ids, dry_run)) if ids else Erased(dry_run=dry_run)
    if vacuum and not dry_run:
        yield from _vacuum(tables, agent_id)
    return erased


def _erase(tables: Tables, agent_id: str, ids: list[UUID], dry_run: bool) -> Operation[Erased]:
    [row] = yield call(tables, "erase", agent=agent_id, memory_ids=ids, dry_run=dry_run)
    derived = tuple(row.derived)
    return Erased(dry_run=dry_run, derived=derived, **_numbers(row, *_OF_MEMORIES, "mentions"))


def erase_owner(
    agent_id: str | UUID,
    *,
    dry_run: bool = False,
    batch_size: int = BATCH_SIZE,
    on_progress: Callable[[Erased, int], Any] | None = None,
) -> Job[Erased]:
    """Deletes everything of an agent. Returns how many rows.

    Each batch of `batch_size` memories is a transaction of its own, so an interrupted erasure can
    be started again. Stop the agent's writers first: what is added meanwhile may stay. `dry_run`
    only counts. `on_progress(erased, memories)` is called after each batch with what was erased so
    far, and with how many memories there were.

    PostgreSQL keeps deleted rows on disk until VACUUM: `erase(agent_id, (), vacuum=True)` runs it.
    """
    require_bool("dry_run", dry_run)
    require_callable("on_progress", on_progress)
    require_count("batch_size", batch_size, at_least=1, at_most=MAX_BATCH)
    there: Any = yield Part(partial(_counted, agent_id=agent_id))
    if dry_run:
        return Erased(dry_run=True, **_numbers(there, *_OF_MEMORIES, "runs"))
    erased = Erased()
    more = True
    with says_how_far(lambda: f"{erased.memories:,} of {there.memories:,} memories are erased"):
        while more:
            row: Any = yield Part(partial(_batch, agent_id=agent_id, batch_size=batch_size))
            numbers = _numbers(row, *_OF_MEMORIES, "runs")
            erased = replace(
                erased, **{n: getattr(erased, n) + value for n, value in numbers.items()}
            )
            more = row.more
            if on_progress is not None:
                yield Ask(on_progress, (erased, there.memories))
    yield Part(partial(_forget_lookups, agent_id=agent_id))
    return erased


def _require_vacuum(tables: Tables) -> Operation[None]:
    """Raises DatabaseError for a role that may not VACUUM our tables."""
    [row] = yield Run(_MAY_VACUUM, {"memories": f'"{tables.schema}".agent_memories'})
    if not row.may:
        raise DatabaseError("permission denied to VACUUM: only the owner of the schema may")


def _vacuum(tables: Tables, owner_id: str) -> Operation[None]:
    """Removes deleted rows from the tables, and from the owner's rank index."""
    names = ["agent_memories", *(f"memory_{of}" for of in ("usage", "events", "links"))]
    names += ["entity_names", "owner_vectors", "maintenance_runs"]
    schema = f'"{tables.schema}"'
    positions = yield Run(_positions(schema), {"owner_id": owner_id})
    names += [row.relation for row in positions]
    yield Run(Statement(f"VACUUM (ANALYZE) {', '.join(f'{schema}.{name}' for name in names)}"))


def _positions(schema: str) -> Statement:
    """The tables of positions of an owner's rank index."""
    return Statement(
        "SELECT pg_catalog.unnest("  # noqa: S608  our own
        f"ARRAY[r.relation, {schema}.used_positions(r.relation)]) AS relation "
        f"FROM {schema}.rank_indexes r WHERE r.agent_id = :owner_id"
    )


@needs(VERB)
def _counted(tables: Tables, agent_id: str | UUID) -> Operation[Any]:
    [row] = yield call(tables, "count_owner", agent=require_owner(tables, agent_id))
    return row


@needs(VERB)
def _batch(tables: Tables, agent_id: str | UUID, batch_size: int) -> Operation[Any]:
    owner_id = require_owner(tables, agent_id)
    [row] = yield call(tables, "erase_owner_batch", agent=owner_id, batch_size=batch_size)
    return row


def _forget_lookups(tables: Tables, agent_id: str | UUID) -> Operation[None]:
    """Refreshes the cached facts of the agent's rank index."""
    yield owner_facts(tables, [require_owner(tables, agent_id)], anew=True)


def _numbers(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
