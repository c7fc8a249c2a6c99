"""Stores prepared memories: one by `remember`, a batch by COPY and `remember_rows`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pgrecall.core.steps import Operation, Run
from pgrecall.memories.added import Added
from pgrecall.memories.embed import Incoming, Policy
from pgrecall.memories.incoming import STORED_DEFAULTS
from pgrecall.memories.memory_statements import (
    DROP_STAGING,
    Staged,
    copy_staged,
    create_staging,
    remember,
    remember_staged,
    staged_fields,
)
from pgrecall.ranking.composing import UNFILTERED, reads
from pgrecall.schema import Tables

_PART = 10_000
"""Rows per call of `remember_rows`, which needs about 25 MB for them at 384 dimensions."""


def stored(tables: Tables, agent_id: str, memory: Incoming, policy: Policy) -> Operation[Added]:
    """Stores one memory, or handles the existing one by the policy."""
    [row] = yield remember(tables, agent_id, memory, policy)
    return _added(row, row.trust)


def stored_batch(
    tables: Tables, agent_id: str, memories: Mapping[int, Incoming], policy: Policy
) -> Operation[dict[int, Added]]:
    """Stores memories in one transaction. Maps ordinals to memories, whose ids must differ."""
    staged = staged_fields(set().union(*memories.values()))
    yield Run(create_staging(tables, staged))
    yield copy_staged(staged, _copied(staged, memories))
    results: dict[int, Added] = {}
    for first in range(0, max(memories) + 1, _PART):
        part = [ordinal for ordinal in memories if first <= ordinal < first + _PART]
        if part:
            bound = {"agent": agent_id, "first": first, "last": first + _PART - 1}
            rows = yield Run(remember_staged(tables, staged), bound | policy.arguments)
            ids = [row.memory_id for row in rows]
            duplicates = yield reads(
                tables, "ids_stored", UNFILTERED, "trusts", owner_id=agent_id, ids=ids
            )
            trusts = {one.id: one.trust for one in duplicates}
            results |= {
                part[row.ordinal - 1]: _added(row, trusts.get(row.memory_id)) for row in rows
            }
    yield DROP_STAGING
    return results


def _added(row: Any, trust: float | None) -> Added:
    return Added(row.memory_id, row.outcome, row.similarity, tuple(row.same_subject), trust)


def _copied(staged: Staged, memories: Mapping[int, Incoming]) -> Iterator[tuple[Any, ...]]:
    """The values of each row, in the order of the staging table's columns."""
    defaults = [STORED_DEFAULTS.get(name) for name in staged]
    for ordinal, memory in memories.items():
        yield (ordinal, *map(memory.get, staged, defaults))
