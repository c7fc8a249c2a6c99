"""Adding memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy.schema import DropTable

from pgrecall import statements
from pgrecall.added import Added
from pgrecall.errors import InvalidMemory
from pgrecall.memory import NewMemory
from pgrecall.operations.preparing import DuplicatePolicy, Incoming, Policy, prepared
from pgrecall.operations.storing import Rows, one_by_one, stored
from pgrecall.schema import Layout, Tables
from pgrecall.statements import UNSET_FIELDS, Staged
from pgrecall.steps import Copy, Execute, Inspect, Operation
from pgrecall.validation import (
    in_list,
    require_owner,
)


def add(
    tables: Tables,
    /,
    agent_id: str,
    memory: NewMemory | str,
    *,
    duplicates: DuplicatePolicy = "bump",
    near_duplicates: float | None = None,
    check_compliance: bool = True,
    actor: str | None = None,
) -> Operation[Added]:
    """Stores one memory and returns its id, which also tells how it went: see Added.

    Text alone is a memory with all defaults, embedded by the repository's embedder. Adding an id
    or a key that is there already changes nothing and returns it, so that a retried add is safe.

    Text that an active memory of the agent holds already (but for case, white space and Unicode
    form) is not stored twice, and that memory's id is returned. `duplicates` says what becomes of
    that memory: its retrieval count is bumped, it is kept as it is, or it is replaced, taking on
    all the fields of the new one. If it is no longer recalled (invalidated, expired), it is
    revived with the new one's validity and expiry. With `near_duplicates`, say 0.92, the same
    holds for the most similar active memory if its similarity is greater than that: exact, and
    safe against rivals that check too (but refused at isolation level REPEATABLE READ, which
    cannot see them), at the cost of comparing all the agent's memories.

    A memory with `compliant=False` is refused unless `check_compliance=False`. `actor` is noted
    in the memory's history.

    Raises InvalidMemory, NotCompliant, InvalidVector or EmbedderRequired; nothing is stored then.
    """
    policy = Policy.of(duplicates, near_duplicates, check_compliance, actor)
    agent_id = require_owner(tables, agent_id)
    batch = yield from prepared(tables, agent_id, [memory], policy, named=False)
    [added] = yield from one_by_one(tables, agent_id, batch, policy)
    return added


def add_many(
    tables: Tables,
    /,
    agent_id: str,
    memories: Iterable[NewMemory | str],
    *,
    duplicates: DuplicatePolicy = "bump",
    near_duplicates: float | None = None,
    check_compliance: bool = True,
    actor: str | None = None,
) -> Operation[list[Added]]:
    """Stores a batch and returns the ids in input order; see `add` for the rules.

    All or nothing: when one memory is bad, none is stored and the error names its position,
    counted from 0. Of several in the batch that say the same, the first is stored. The rows go
    through COPY, unless `near_duplicates` asks for each to be compared with all before it.

    Raises InvalidMemory, NotCompliant, InvalidVector or EmbedderRequired.
    """
    policy = Policy.of(duplicates, near_duplicates, check_compliance, actor)
    agent_id = require_owner(tables, agent_id)
    several = None if isinstance(memories, Mapping) else in_list(memories)
    if several is None:
        raise InvalidMemory(f"a batch is a list of memories, got {type(memories).__name__}")
    batch = yield from prepared(tables, agent_id, several, policy, named=True)
    if not batch:
        return []
    if near_duplicates is not None:
        added = yield from one_by_one(tables, agent_id, batch, policy)
        return added
    layout: Layout = yield Inspect()
    firsts: dict[UUID, int] = {}
    for ordinal, memory in enumerate(batch):
        firsts.setdefault(memory.id, ordinal)
    rows = _staged({ordinal: batch[ordinal] for ordinal in firsts.values()})
    assert rows.staged is not None
    table = statements.staging(tables, rows.staged)
    yield Execute(statements.create_staging(tables, rows.staged))
    yield Copy(table, _copied(rows.staged, rows.memories), layout.embedding_oid)
    results = yield from stored(tables, agent_id, rows, policy)
    yield Execute(DropTable(table))
    return [
        results[ordinal] if ordinal in results else _repeated(results[firsts[memory.id]])
        for ordinal, memory in enumerate(batch)
    ]


def _repeated(first: Added) -> Added:
    """What becomes of a row whose id came before in the same batch."""
    return Added(first, "known") if first.inserted else first


def _staged(memories: Mapping[int, Incoming]) -> Rows:
    """Only fields that are not at their defaults in all rows are copied."""
    differing: set[str] = set().union(*(memory.differing for memory in memories.values()))
    differing.add("tokens")  # counted, where they are not given
    unset = {tuple(memory.unset) for memory in memories.values()}
    if any(memory.values["embedding_model"] is not None for memory in memories.values()):
        differing.add("embedding_model")  # by the embedder, where there is one
    # A field that some leave unset and others give is given in all rows, as None or otherwise.
    if len(unset) > 1:
        return Rows(memories, statements.staged_fields({*differing, UNSET_FIELDS}), {})
    [same] = unset
    return Rows(memories, statements.staged_fields(differing), {UNSET_FIELDS: list(same)})


def _copied(staged: Staged, memories: Mapping[int, Incoming]) -> Iterator[tuple[Any, ...]]:
    """The rows in the order of the staging table's columns."""
    for ordinal, memory in memories.items():
        values = memory.values | {
            UNSET_FIELDS: memory.unset,
            "embedding": memory.vector,
            "metadata": Jsonb(memory.values["metadata"]),
        }
        yield (ordinal, *(values[name] for name in staged))
