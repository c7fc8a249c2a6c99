"""Touches count retrievals of memories after a search, where its statement does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from pgrecall.core.steps import Operation, Uncounted
from pgrecall.ranking.composing import reads
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.verbs import call
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import ScoredMemory


def touched(tables: Tables, hits: Sequence[ScoredMemory], search: Search) -> Operation[bool]:
    """Counts a retrieval of each hit, in one statement; in one for each owner where these may be on
    different nodes. Returns whether they were counted."""
    owners: dict[str, list[UUID]] = defaultdict(list)
    for hit in hits:
        owners[hit.memory.owner_id].append(hit.memory.id)
    how = touch_parameters(search.profile)
    if len(owners) == 1 or search.distributed:
        for owner_id, ids in sorted(owners.items()):
            counting = call(tables, "touch", agent=owner_id, memory_ids=ids, **how)
            if (yield counting._replace(counts=True)) is Uncounted:
                return False
    elif owners:
        memories = [hit.memory for hit in hits]
        each = reads(
            tables,
            "touch",
            hit_owners=[memory.owner_id for memory in memories],
            hit_ids=[memory.id for memory in memories],
        )
        parameters = {**each.parameters, **how}
        if (yield each._replace(parameters=parameters, counts=True)) is Uncounted:
            return False
    return True


def touch_parameters(profile: Profile) -> dict[str, bool]:
    """The parameters of a touch: whether it sets last_accessed_at, and whether the commit waits for
    the disk, which the repository may override."""
    return {"accessed": profile.accessed_by == "retrieval", "durable": True}
