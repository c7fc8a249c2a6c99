"""Clusters of similar memories, and their consolidation."""

from __future__ import annotations

from itertools import groupby
from typing import Any
from uuid import UUID

from pgrecall.core.memory import leading_memory
from pgrecall.core.steps import READS, VERB, Operation, needs
from pgrecall.core.validation import require_count, require_given_share
from pgrecall.lifecycle.cluster import Cluster, Consolidation
from pgrecall.memories.embed import Policy, prepared
from pgrecall.ranking.composing import UNFILTERED, reads
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call

NEWEST = 2_000
"""How many memories are compared with each other by default; this makes two million pairs."""
MOST = 100_000


@needs(READS)
def clusters(
    tables: Tables,
    /,
    agent_id: str | UUID,
    *,
    min_similarity: float = 0.80,
    min_size: int = 3,
    more_than: int = 20,
    newest: int = NEWEST,
) -> Operation[list[Cluster]]:
    """Groups of similar active memories. Empty unless the agent has more than `more_than`.

    Each cluster has at least `min_size` memories whose similarity to the central one is at least
    `min_similarity`. No memory is in two clusters. They are computed in the database, from the
    `newest` memories.
    """
    rows = yield reads(
        tables,
        "clusters",
        UNFILTERED,
        "clusters",
        places={"order": "one.cluster, one.place"},
        owner_id=require_owner(tables, agent_id),
        min_similarity=require_given_share("min_similarity", min_similarity),
        min_size=require_count("min_size", min_size, at_least=2, at_most=MOST),
        more_than=require_count("more_than", more_than, at_least=0, at_most=MOST),
        newest=require_count("newest", newest, at_least=2, at_most=MOST),
    )
    groups = []
    for _, members in groupby(rows, key=lambda row: row.cluster):
        whole = [*members]
        groups.append(Cluster([*map(leading_memory, whole)], [row.to_centre for row in whole]))
    return groups


@needs(VERB)
def consolidate_cluster(
    tables: Tables,
    agent_id: str | UUID,
    cluster: Cluster,
    text: str | None,
    actor: str | None,
) -> Operation[Consolidation | None]:
    """Replaces the memories of a cluster by one, in one transaction.

    Returns None and changes nothing if one of the memories has changed or is gone since it was
    read.
    """
    agent_id = require_owner(tables, agent_id)
    members = cluster.memories
    arguments: dict[str, Any] = {
        "agent": agent_id,
        "memory_ids": [member.id for member in members],
        "seen": [member.updated_at for member in members],
        "actor": actor,
    }
    if text is not None:
        policy = Policy.of("keep", None, False, actor)
        [new] = yield from prepared(tables, agent_id, [text], policy, named=False)
        named = ("content", "embedding", "embedding_model", "tokens")
        arguments |= {name: new[name] for name in named}
    for row in (yield call(tables, "consolidate_memories", **arguments)):
        return cluster.replaced(row.memory_id, row.importance)
    return None
