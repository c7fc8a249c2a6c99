"""Measures how much an owner has."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from pgrecall.core.steps import READS_TOGETHER, Operation, needs
from pgrecall.memories.owner_sizes import Sizes
from pgrecall.rank_index.building import rank_indexes
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call


@needs(READS_TOGETHER)
def sizes(tables: Tables, /, agent_id: str | UUID) -> Operation[Sizes]:
    """Counts the agent's memories, by status, type and month, and shows its rank index.

    Every memory is read, but for its text and embedding. Raises InputError.
    """
    rows = yield call(tables, "sizes", agent=require_owner(tables, agent_id))
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    memories = size = 0
    for row in rows:
        counts[row.counted_by][row.value] = row.memories
        if row.counted_by == "all":
            memories, size = row.memories, row.bytes
    states = yield from rank_indexes(tables, agent_id=agent_id)
    by_type = sorted(counts["memory_type"].items(), key=lambda one: (-one[1], one[0]))
    return Sizes(
        memories=memories,
        bytes=size,
        by_status=counts["status"],
        by_type=dict(by_type),
        by_month=counts["month"],
        rank_index=states[0] if states else None,
    )
