"""What is added to hits: the turns next to them, and memories that are linked to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from pgrecall.core.steps import Operation
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.search.rows import hits_of, place
from pgrecall.search.scatter_gather import each_owner
from pgrecall.search.statements import linked_to, turns_of


def linked_memories(
    tables: Tables, request: Search, hits: list[ScoredMemory], hops: int
) -> Operation[list[ScoredMemory]]:
    """Memories linked to the hits that were not found by the search, best first."""
    anchors = [one for one in hits if one.attached_to is None]
    most = request.k + len(hits) - len(anchors)  # some may have been added as turns already
    found: list[ScoredMemory] = []
    for part in each_owner(request):
        if given := _given(part, anchors):
            rows = yield linked_to(tables, part, given, hops, most)
            found += hits_of(request.profile, rows)
    there = {(one.memory.owner_id, one.memory.id) for one in hits}
    new = [one for one in found if (one.memory.owner_id, one.memory.id) not in there]
    return sorted(new, key=place)[: request.k]


def added_turns(
    tables: Tables, parts: Sequence[Search], exact: Sequence[bool], hits: Sequence[ScoredMemory]
) -> Operation[list[ScoredMemory]]:
    """The turns next to hits that are no hits themselves."""
    found: list[ScoredMemory] = []
    for part, is_exact in zip(parts, exact, strict=True):
        if given := _given(part, hits):
            rows = yield turns_of(tables, part, given, exact=is_exact)
            found += hits_of(part.profile, rows)
    return found


def _given(part: Search, hits: Iterable[ScoredMemory]) -> dict[str, list[Any]]:
    """Those hits whose agents a search is about, as parameters; empty if there are none."""
    owners = {part.agent_id, *part.teams}
    own = [one for one in hits if one.memory.owner_id in owners]
    return (
        own
        and {
            "hit_owners": [one.memory.owner_id for one in own],
            "hit_ids": [one.memory.id for one in own],
            "hit_scores": [one.score for one in own],
        }
    ) or {}


def in_passages(hits: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Turns of one session that belong together stand next to each other, in order, by their best
    hit."""
    scores = {one.memory.id: one.score for one in hits if one.attached_to is None}
    passages: defaultdict[Any, list[ScoredMemory]] = defaultdict(list)
    for one in hits:
        passages[one.memory.owner_id, one.memory.session or one.memory.id].append(one)

    def of_hit(one: ScoredMemory) -> tuple[float, UUID]:
        anchor = one.attached_to or one.memory.id
        return -scores[anchor], anchor

    def turn(one: ScoredMemory) -> tuple[Any, ...]:
        number, created = one.memory.turn, one.memory.created_at
        return number is None, number, created is None, created, one.memory.id

    ordered = sorted(passages.values(), key=lambda passage: min(map(of_hit, passage)))
    return [one for passage in ordered for one in sorted(passage, key=turn)]
