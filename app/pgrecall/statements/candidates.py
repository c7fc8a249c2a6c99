"""Search through rank indexes: candidates from the graph and what is newer, scored exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    Boolean,
    DateTime,
    Integer,
    Select,
    Text,
    Uuid,
    any_,
    bindparam,
    cast,
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy import (
    Table as MemoryTable,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall import compiler
from pgrecall.custom_condition import Expression
from pgrecall.schema import Tables, owner
from pgrecall.statements.conditions import owned, owned_by_any
from pgrecall.statements.ranking import Ranking, Search, Shape, in_full, scored

PASSED, TOTAL = "passed", "total"
"""Columns: candidates of the indexes that pass, and all rows that do."""


@dataclass(frozen=True, slots=True)
class Source:
    """A rank index to be searched in."""

    owner_id: str
    of_team: bool
    relation: str
    built_at: datetime
    as_of: datetime
    direction: str
    """The query in the rank space, as text."""


@dataclass(frozen=True, slots=True)
class Sources:
    """All that a search looks through: indexes, and owners whose memories are all scored."""

    indexes: Sequence[Source]
    whole_own: bool
    """Whether the agent itself has no index."""
    whole_teams: Sequence[str]

    @property
    def shape(self) -> tuple[tuple[bool, ...], bool, bool]:
        return (
            tuple(source.of_team for source in self.indexes),
            self.whole_own,
            bool(self.whole_teams),
        )

    def parameters(self, *, candidates: int, ef_search: int) -> dict[str, Any]:
        """Those beside the search's own."""
        parameters: dict[str, Any] = {"candidates": candidates, "ef_search": ef_search}
        if self.whole_teams:
            parameters["whole_teams"] = list(self.whole_teams)
        for number, source in enumerate(self.indexes):
            for name in ("owner_id", "relation", "built_at", "as_of", "direction"):
                parameters[f"source_{number}_{name}"] = getattr(source, name)
        return parameters


def search_candidates(tables: Tables, wanted: Search, sources: Sources) -> Ranking:
    """The k best among the candidates, as `search`; execute it with both parameters.

    A column more, `passed`: how many of the indexes' candidates pass the filters, and `total`:
    how many rows do. min_score is left to the caller, who has to see these.
    """
    if wanted.filters.where:
        return _search(tables, wanted.shape, sources.shape, wanted.filters.where)
    return _known_search(tables, wanted.shape, sources.shape)


SourcesShape = tuple[tuple[bool, ...], bool, bool]


@lru_cache(maxsize=256)
def _known_search(tables: Tables, shape: Shape, sources: SourcesShape) -> Ranking:
    return _search(tables, shape, sources, ())


def _search(
    tables: Tables, shape: Shape, sources: SourcesShape, where: Sequence[Expression]
) -> Ranking:
    of_team, whole_own, whole_teams = sources
    numbers = {team: [n for n, is_team in enumerate(of_team) if is_team == team] for team in (0, 1)}
    stores = [
        (tables.memories, owned(tables.memories), False, _whole_own(tables) if whole_own else None)
    ]
    if shape.has_teams:
        whole = _whole_teams(tables) if whole_teams else None
        stores.append((tables.team_memories, owned_by_any(tables.team_memories), True, whole))
    found = []
    for memories, whose, is_team, whole in stores:
        among = _nominated(tables, memories, is_team, numbers[is_team], whole, shape)
        rows = scored(tables, memories, whose, shape, where, among=among)
        found.append(
            rows.add_columns(literal_column(str(is_team).lower(), Boolean()).label("of_team"))
        )
    merged = (union_all(*found) if len(found) > 1 else found[0]).subquery("merged")
    best = (
        select(
            merged,
            func.count().filter(merged.c.indexed).over().label(PASSED),
            func.count().over().label(TOTAL),
        )
        .order_by(merged.c.score.desc(), merged.c.id)
        .limit(bindparam("k", type_=Integer()))
        .cte("ranked")
    )
    hits = [
        in_full(tables, memories, best, shape)
        .add_columns(best.c[PASSED], best.c[TOTAL])
        .where(best.c.of_team if is_team else ~best.c.of_team, whose)
        for memories, whose, is_team, _ in stores
    ]
    if len(hits) == 1:
        return hits[0].order_by(best.c.score.desc(), best.c.id)
    return union_all(*hits).order_by(literal_column("score").desc(), literal_column("id"))


def _nominated(
    tables: Tables,
    memories: MemoryTable,
    is_team: bool,
    numbers: Sequence[int],
    whole: Select[Any] | None,
    shape: Shape,
) -> CTE:
    """Owner and id of every row to be scored, each once, and whether an index handed it on."""
    parts = [] if whole is None else [whole]
    for number in numbers:
        parts += _of_index(tables, memories, number, shape)
    every = union_all(*parts).subquery("every")
    return (
        select(every.c.owner_id, every.c.id, func.bool_or(every.c.indexed).label("indexed"))
        .group_by(every.c.owner_id, every.c.id)
        .cte("nominated_of_teams" if is_team else "nominated")
    )


def _of_index(
    tables: Tables, memories: MemoryTable, number: int, shape: Shape
) -> list[Select[Any]]:
    def bound(name: str, type_: Any) -> Any:
        return bindparam(f"source_{number}_{name}", type_=type_)

    owner_id = bound("owner_id", Text())
    built_at, as_of = (bound(name, DateTime(timezone=True)) for name in ("built_at", "as_of"))
    handed_on = compiler.schema_function(
        tables.schema,
        "rank_candidates",
        bound("relation", Text()),
        bound("direction", Text()),
        bindparam("candidates", type_=Integer()),
        bindparam("ef_search", type_=Integer()),
        type_=Uuid(),
    )
    events, usage = tables.memory_events, tables.memory_usage
    labelled = owner_id.label("owner_id")
    beside = literal_column("false", Boolean()).label("indexed")
    parts = [
        select(labelled, handed_on.label("id"), literal_column("true", Boolean()).label("indexed")),
        select(labelled, memories.c.id, beside).where(
            owner(memories) == owner_id, memories.c.inserted_at >= built_at
        ),
        select(labelled, events.c.memory_id, beside).where(
            events.c.agent_id == owner_id,
            events.c.occurred_at >= built_at,
            events.c.event_type != literal_column("'initial'"),
        ),
    ]
    if shape.follows_use:
        parts.append(
            select(labelled, usage.c.memory_id, beside).where(
                usage.c.agent_id == owner_id, usage.c.last_accessed_at > as_of
            )
        )
    return parts


def _whole_own(tables: Tables) -> Select[Any]:
    memories = tables.memories
    return _whole(memories).where(owned(memories))


def _whole_teams(tables: Tables) -> Select[Any]:
    memories = tables.team_memories
    teams = cast(bindparam("whole_teams", type_=ARRAY(Text)), ARRAY(Text))
    return _whole(memories).where(owner(memories) == any_(teams))


def _whole(memories: MemoryTable) -> Select[Any]:
    return select(
        owner(memories).label("owner_id"),
        memories.c.id,
        literal_column("false", Boolean()).label("indexed"),
    )
