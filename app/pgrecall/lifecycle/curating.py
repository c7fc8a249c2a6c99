"""Curation of an agent's memories: clusters, stale tasks, pruning."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

from pgrecall.core.memory import leading_memory
from pgrecall.core.steps import READS, VERB, Mode, Operation, needs
from pgrecall.core.validation import require_count, require_duration, require_given_share
from pgrecall.errors import InputError
from pgrecall.lifecycle.cluster import Cluster, Consolidation
from pgrecall.memories.embed import Policy, prepared
from pgrecall.memories.event_fields import check_audit_fields
from pgrecall.ranking.composing import UNFILTERED, ranks, reads
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile

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


@needs(VERB)
def complete_stale_tasks(
    tables: Tables,
    /,
    agent_id: str | UUID,
    *,
    older_than: timedelta = timedelta(days=7),
    actor: str | None = None,
) -> Operation[int]:
    """Completes tasks (memory_type task) created and last accessed longer ago. Returns how many.

    Their status becomes completed, so a search only returns them if `statuses` includes it.
    """
    require_duration("older_than", older_than)
    check_audit_fields(reason=None, actor=actor)
    agent_id = require_owner(tables, agent_id)
    [[completed]] = yield call(
        tables,
        "complete_stale_tasks",
        agent=agent_id,
        older_than=older_than,
        actor=actor,
    )
    return int(completed)


@needs(Mode(savepoint=True, unlimited=True))
def prune(
    tables: Tables,
    /,
    agent_id: str | UUID,
    *,
    older_than: timedelta | None = None,
    below_score: float | None = None,
    profile: Profile | str | None = None,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Archives active memories that are old, or score low, or both if both are given.

    The score is the profile's without a query, so similarity is 0; with five_factor the score is at
    most 0.6. The profile is that of this call, or else the repository's, or else the database's
    (`pgrecall profiles default`), or else five_factor. Archived memories stay stored and can be
    revived. Returns how many were archived. Raises InputError if neither limit is given.
    """
    agent_id = require_owner(tables, agent_id)
    if older_than is None and below_score is None:
        raise InputError("prune needs older_than or below_score; without them it would archive all")
    chosen = None if profile is None else profiles.checked_profile(profile)
    reason = "pruned" if reason is None else reason
    check_audit_fields(reason=reason, actor=actor)
    arguments: dict[str, Any] = {"older_than": older_than}
    if older_than is not None:
        require_duration("older_than", older_than)
    if below_score is not None:
        limit = require_given_share("below_score", below_score)
        if chosen is None:
            chosen = yield from default_profile(tables, profiles.five_factor)
        if profiles.is_built_in(chosen):
            arguments |= {"below_score": limit, "profile": chosen.name}
        else:  # the database does not have this profile
            arguments["among"] = yield from _below(tables, agent_id, chosen, limit)
    [[archived]] = yield call(
        tables, "prune", agent=agent_id, reason=reason, actor=actor, **arguments
    )
    return int(archived)


def _below(tables: Tables, agent_id: str, profile: Profile, limit: float) -> Operation[list[UUID]]:
    search = Search(agent_id=agent_id, query=None, k=1, profile=profile, filters=UNFILTERED)
    rows = yield ranks(tables, "prune", search, below_score=limit)
    return [row.id for row in rows]
