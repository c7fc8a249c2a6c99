"""Consolidation: replaces each cluster of similar memories by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import groupby
from typing import Any
from uuid import UUID

from sqlalchemy import Double, Integer, and_, bindparam, select

from pgrecall.core.memory import Memory, leading_memory
from pgrecall.core.quoting import shortened
from pgrecall.core.statement import Functions, Statement
from pgrecall.core.steps import READS, VERB, Ask, Job, Operation, Part, Run, needs, says_how_far
from pgrecall.core.validation import (
    require_bool,
    require_callable,
    require_count,
    require_given_share,
)
from pgrecall.errors import InputError
from pgrecall.memories.embed import Policy, prepared
from pgrecall.memories.event_fields import check_audit_fields
from pgrecall.ranking.passing import OWNER, memories_of
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call

NEWEST = 2_000
"""How many memories are compared with each other by default; this makes two million pairs."""
MOST = 100_000
Summarise = Callable[[list[str]], str] | Callable[[list[str]], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Similar memories; the first is the most central one."""

    memories: list[Memory]
    similarities: list[float]

    def replaced(self, memory_id: UUID | None, importance: float) -> Consolidation:
        return Consolidation(
            memory_id,
            [memory.id for memory in self.memories],
            [memory.content for memory in self.memories],
            self.similarities,
            importance,
        )


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A memory that replaced several similar ones, or would."""

    memory_id: UUID | None
    """The new memory; None in a dry run."""
    source_ids: list[UUID]
    """The most central first."""
    contents: list[str]
    """The texts of the sources."""
    similarities: list[float]
    """The similarity of each source to the central one; 1 for itself."""
    importance: float


def consolidate(
    agent_id: str | UUID,
    summarise: Summarise | None = None,
    *,
    min_similarity: float = 0.80,
    min_size: int = 3,
    more_than: int = 20,
    newest: int = NEWEST,
    actor: str | None = None,
    dry_run: bool = False,
    on_progress: Callable[[int, int], Any] | None = None,
) -> Job[list[Consolidation]]:
    """Finds groups of similar active memories and stores one new memory in place of each.

    A group has at least `min_size` memories whose similarity to the central one is at least
    `min_similarity`; no memory is in two. They are found among the `newest` memories, and only if
    the agent has more than `more_than`. With `dry_run` they are returned, and nothing changes.

    `summarise` makes the new text from the cluster's texts, the most central first; without it the
    central memory's text and vector are used. The status of the sources becomes consolidated, and
    links of the kind consolidates lead to them. The new memory's importance is min(greatest of the
    sources + 0.1, 1), and its trust and usefulness are the means of theirs.

    Each cluster is a transaction of its own; `summarise` runs outside of it. A cluster that was
    changed meanwhile is left as it is. `on_progress(done, of)` is called after each.
    """
    require_callable("summarise", summarise)
    require_callable("on_progress", on_progress)
    require_bool("dry_run", dry_run)
    check_audit_fields(reason=None, actor=actor)
    similar: list[Cluster] = yield Part(
        partial(
            clusters,
            agent_id=agent_id,
            min_similarity=min_similarity,
            min_size=min_size,
            more_than=more_than,
            newest=newest,
        )
    )
    if dry_run:
        return [one.replaced(None, _importance(one)) for one in similar]
    done: list[Consolidation] = []
    with says_how_far(lambda: f"{len(done)} of {len(similar)} clusters are consolidated"):
        for number, cluster in enumerate(similar, start=1):
            text: Any = None
            if summarise is not None:
                text = yield Ask(summarise, ([member.content for member in cluster.memories],))
                if not isinstance(text, str) or not text.strip():
                    raise InputError(f"summarise must return a text, got {shortened(text)}")
            result: Consolidation | None = yield Part(
                partial(
                    consolidate_cluster, agent_id=agent_id, cluster=cluster, text=text, actor=actor
                )
            )
            if result is not None:
                done.append(result)
            if on_progress is not None:
                yield Ask(on_progress, (number, len(similar)))
    return done


def _importance(cluster: Cluster) -> float:
    return min(max(memory.importance for memory in cluster.memories) + 0.1, 1.0)


@needs(READS)
def clusters(
    tables: Tables,
    agent_id: str | UUID,
    *,
    min_similarity: float,
    min_size: int,
    more_than: int,
    newest: int,
) -> Operation[list[Cluster]]:
    values = {
        "owner_id": require_owner(tables, agent_id),
        "min_similarity": require_given_share("min_similarity", min_similarity),
        "min_size": require_count("min_size", min_size, at_least=2, at_most=MOST),
        "more_than": require_count("more_than", more_than, at_least=0, at_most=MOST),
        "newest": require_count("newest", newest, at_least=2, at_most=MOST),
    }
    rows = yield Run(_clusters(tables), values)
    groups = []
    for _, members in groupby(rows, key=lambda row: row.cluster):
        whole = [*members]
        groups.append(Cluster([*map(leading_memory, whole)], [row.to_centre for row in whole]))
    return groups


@lru_cache
def _clusters(tables: Tables) -> Statement:
    """The memories of each cluster in full, the central one first."""
    memories = memories_of(tables)
    clusters = Functions(tables.schema).clusters(
        OWNER,
        bindparam("min_similarity", type_=Double()),
        *(bindparam(name, type_=Integer()) for name in ("min_size", "more_than", "newest")),
    )
    found = clusters.table_valued("cluster", "place", "memory_id", "similarity").alias("found")
    same = and_(memories.m.c.agent_id == OWNER, memories.m.c.id == found.c.memory_id)
    used = and_(memories.u.c.agent_id == OWNER, memories.u.c.memory_id == found.c.memory_id)
    rows = found.join(memories.m, same).outerjoin(memories.u, used)
    columns = [*memories.in_full, found.c.cluster, found.c.similarity.label("to_centre")]
    chosen = select(*columns).select_from(rows).order_by(found.c.cluster, found.c.place)
    return Statement.of("clusters", chosen)


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
