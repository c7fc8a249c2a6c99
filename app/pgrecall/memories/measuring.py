"""Measures how much an owner has, and estimates how much memories will take."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from pgrecall.core.steps import READS, READS_TOGETHER, Operation, needs
from pgrecall.core.validation import require_count, require_one_of
from pgrecall.core.vectors import EmbeddingType
from pgrecall.memories.owner_sizes import SizeEstimate, Sizes
from pgrecall.rank_index.building import rank_indexes
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call


@needs(READS)
def estimate(
    tables: Tables,
    /,
    memories: int,
    *,
    text_length: int = 200,
    dimensions: int | None = None,
    embedding_type: EmbeddingType | None = None,
) -> Operation[list[SizeEstimate]]:
    """Estimates what so many memories take: bytes on disk, WAL, and memory and time of a build.

    `text_length` is the average number of characters of a text. `dimensions` and `embedding_type`
    are by default those of this schema. From sizes measured with made-up memories. Raises
    InputError.
    """
    require_count("memories", memories, at_least=1, at_most=10**9)
    require_count("text_length", text_length, at_least=1, at_most=10**6)
    if dimensions is not None:
        require_count("dimensions", dimensions, at_least=1, at_most=16_000)
    if embedding_type is not None:
        require_one_of("embedding_type", embedding_type, list(EmbeddingType))
    rows = yield call(
        tables,
        "estimate",
        memories=memories,
        text_length=text_length,
        dimensions=dimensions,
        embedding_type=embedding_type,
    )
    return [SizeEstimate(*row) for row in rows]


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
