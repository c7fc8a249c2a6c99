"""Looking after many memories of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import mean
from uuid import UUID

from pgrecall import profiles, statements
from pgrecall.cluster import Cluster, Consolidation
from pgrecall.errors import InputError
from pgrecall.filters import Filters
from pgrecall.memory import Memory, NewMemory
from pgrecall.near_duplicate import NearDuplicate
from pgrecall.operations.noting import noted
from pgrecall.operations.preparing import NEAR_DUPLICATE, Policy, prepared
from pgrecall.operations.reading import get, memory
from pgrecall.operations.storing import one_by_one
from pgrecall.profile import Profile
from pgrecall.schema import Tables
from pgrecall.statements import Search
from pgrecall.steps import Execute, Operation
from pgrecall.validation import require_count, require_duration, require_given_share, require_owner

NEWEST = 2_000
"""How many memories are compared with each other by default: two million pairs."""
MOST = 100_000


def near_duplicates(
    tables: Tables,
    /,
    agent_id: str,
    *,
    threshold: float = NEAR_DUPLICATE,
    limit: int = 100,
    newest: int = NEWEST,
) -> Operation[list[NearDuplicate]]:
    """Pairs of active memories whose similarity is greater than `threshold`, most similar first.

    Exact among the agent's `newest` memories, of which every pair is compared (2,000 take a few
    seconds, twice as many four times as long). Exact duplicates are never stored twice.
    """
    agent_id = require_owner(tables, agent_id)
    rows = yield Execute(
        statements.near_duplicates(tables),
        {
            "owner_id": agent_id,
            "threshold": require_given_share("threshold", threshold),
            "limit": require_count("limit", limit, at_least=1, at_most=MOST),
            "newest": require_count("newest", newest, at_least=2, at_most=MOST),
        },
    )
    return [NearDuplicate(**row._mapping) for row in rows]


def clusters(
    tables: Tables,
    /,
    agent_id: str,
    *,
    min_similarity: float = 0.80,
    min_size: int = 3,
    more_than: int = 20,
    newest: int = NEWEST,
) -> Operation[list[Cluster]]:
    """Groups of active memories that say much the same, for an agent with more than so many.

    Each has at least `min_size` memories, all at least `min_similarity` similar to the central
    one; no memory is in two. Computed in the database, exact among the `newest`.
    """
    agent_id = require_owner(tables, agent_id)
    rows = yield Execute(
        statements.clusters(tables),
        {
            "owner_id": agent_id,
            "min_similarity": require_given_share("min_similarity", min_similarity),
            "min_size": require_count("min_size", min_size, at_least=2, at_most=MOST),
            "more_than": require_count("more_than", more_than, at_least=0, at_most=MOST),
            "newest": require_count("newest", newest, at_least=2, at_most=MOST),
        },
    )
    ids = [member for row in rows for member in row.members]
    if not ids:
        return []
    found = yield Execute(statements.get_many(tables), {"owner_id": agent_id, "ids": ids})
    memories = {row.id: memory(row._mapping) for row in found}
    return [
        Cluster([memories[member] for member in row.members], list(row.similarities))
        for row in rows
        if all(member in memories for member in row.members)
    ]


def consolidate_cluster(
    tables: Tables,
    agent_id: str,
    cluster: Cluster,
    text: str | None,
    actor: str | None,
) -> Operation[Consolidation | None]:
    """Stores one memory in the place of a cluster's, in one transaction.

    It holds as long as all of them do, is as trusted and useful as they are on average, and bears
    their labels. None, and nothing is changed, where one of them has changed or gone since it was
    read.
    """
    agent_id = require_owner(tables, agent_id)
    central, members = cluster.central, cluster.memories
    ids = sorted(member.id for member in members)
    note = noted(reason=None, actor=actor)
    policy = Policy.of("keep", None, False, actor)
    new = NewMemory(
        central.content if text is None else text,
        memory_type=central.memory_type,
        additional_types=central.additional_types,
        memory_nature=central.memory_nature,
        content_type=central.content_type,
        tier=central.tier,
        subject=central.subject,
        domain=central.domain,
        category=central.category,
        tags=_together([member.tags for member in members]),
        entities=_together([member.entities for member in members]),
        confidence=max(member.confidence for member in members),
        usefulness=mean(member.usefulness for member in members),
        trust=_mean_trust(members),
        valid_from=max(_given_times(members, "valid_from"), default=None),
        valid_until=min(_given_times(members, "valid_until"), default=None),
        expires_at=min(_given_times(members, "expires_at"), default=None),
        component=central.component,
        output_type=central.output_type,
        compliant=_compliant(cluster),
        requires_approval=any(member.requires_approval for member in members),
        has_errors=any(member.has_errors for member in members),
        violates_policy=any(member.violates_policy for member in members),
        under_policy_review=any(member.under_policy_review for member in members),
        metadata={"consolidates": len(ids)},
    )
    if text is None:
        whole = yield from get(tables, agent_id, central.id, include_embedding=True)
        if whole is None or whole.embedding is None:
            return None
        new = replace(new, embedding=whole.embedding, embedding_model=whole.embedding_model)
    [incoming] = yield from prepared(tables, agent_id, [new], policy, named=False)
    seen = {member.id: member.updated_at for member in members}
    bound = {"owner_id": agent_id, "ids": ids}
    locked = yield Execute(
        statements.lock_sources(tables), bound | {"seen": [seen[id_] for id_ in ids]}
    )
    if len(locked) < len(ids):
        return None
    importance = min(max(row.importance for row in locked) + 0.1, 1.0)
    incoming.values["importance"] = importance
    # First put away, so that the new memory may say what the central one says.
    yield Execute(statements.consolidate(tables), bound | note)
    [added] = yield from one_by_one(tables, agent_id, [incoming], policy)
    memory_id = UUID(int=added.int)
    if not added.inserted:
        raised = {"owner_id": agent_id, "this_id": memory_id, "new_importance": importance}
        yield Execute(statements.raise_importance(tables), raised | note)
    written = bound | {"this_id": memory_id}
    yield Execute(statements.inherit_labels(tables), written)
    yield Execute(statements.link_all(tables), written | {"link_kind": statements.CONSOLIDATES})
    return Consolidation(memory_id, ids, importance)


def complete_stale_tasks(
    tables: Tables,
    /,
    agent_id: str,
    *,
    older_than: timedelta = timedelta(days=7),
    actor: str | None = None,
) -> Operation[int]:
    """Completes tasks (memory_type task) created and last accessed longer ago; returns how many.

    Their status becomes completed, and a search does not return them unless asked for.
    """
    agent_id = require_owner(tables, agent_id)
    rows = yield Execute(
        statements.complete_stale_tasks(tables),
        {
            "owner_id": agent_id,
            "stale_hours": require_duration("older_than", older_than),
            **noted(reason="stale task", actor=actor),
        },
    )
    return len(rows)


def prune(
    tables: Tables,
    /,
    agent_id: str,
    *,
    older_than: timedelta | None = None,
    below_score: float | None = None,
    profile: Profile | str = profiles.five_factor,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Archives active memories that are old, or score low, or both if both are given.

    The score is the profile's without a query, so similarity counts 0: with five_factor it is at
    most 0.6. Archived memories stay, can be revived, and are deleted by `delete` or garbage
    collection. Returns how many. Raises InputError where neither limit is given.
    """
    agent_id = require_owner(tables, agent_id)
    if older_than is None and below_score is None:
        raise InputError("prune needs older_than or below_score: without either it would take all")
    chosen = profiles.named(profile) if isinstance(profile, str) else profile
    if not isinstance(chosen, Profile):
        raise InputError(f"profile must be a Profile or a name, got {type(profile).__name__}")
    wanted = Search(
        agent_id=agent_id,
        query=None,
        k=1,
        profile=chosen,
        filters=Filters(include_invalid=True),
    )
    parameters = wanted.parameters | noted(
        reason="pruned" if reason is None else reason, actor=actor
    )
    if older_than is not None:
        parameters["max_age_hours"] = require_duration("older_than", older_than)
    if below_score is not None:
        parameters["below_score"] = require_given_share("below_score", below_score)
    statement = statements.prune(
        tables, wanted, by_age=older_than is not None, by_score=below_score is not None
    )
    rows = yield Execute(statement, parameters)
    return len(rows)


def clear(tables: Tables, /, agent_id: str) -> Operation[int]:
    """Deletes everything of an agent and returns how many memories there were.

    Memories, counters, labels, links and the history: nothing is left that could be looked up.
    """
    agent_id = require_owner(tables, agent_id)
    first, *traces = statements.clear(tables)
    [row] = yield Execute(first, {"owner_id": agent_id})
    for trace in traces:
        yield Execute(trace, {"owner_id": agent_id})
    yield Execute(statements.forget_positions(tables), {"owner_id": agent_id, "ids": None})
    return int(row.cleared)


def _mean_trust(members: Sequence[Memory]) -> float | None:
    """None where none of them was ever assessed."""
    assessed = [member.trust for member in members if member.trust is not None]
    return mean(assessed) if assessed else None


def _given_times(members: Sequence[Memory], name: str) -> list[datetime]:
    times = (getattr(member, name) for member in members)
    return [time for time in times if time is not None]


def _compliant(cluster: Cluster) -> bool | None:
    """Not compliant if one of them is not; judged only if all are."""
    judged = {member.compliant for member in cluster.memories}
    return False if False in judged else None if None in judged else True


def _together(texts: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(text for several in texts for text in several))
