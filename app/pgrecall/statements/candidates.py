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
    bindparam,
    case,
    column,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy import (
    Table as MemoryTable,
)
from sqlalchemy.dialects.postgresql import array

from pgrecall import compiler
from pgrecall.custom_condition import Expression
from pgrecall.schema import Tables, owner
from pgrecall.statements.conditions import Condition, any_of, owned, owned_by_any
from pgrecall.statements.ranking import Ranking, Search, Shape, in_full, scored

PASSED, TOTAL = "passed", "total"
"""Columns: how many candidates of each index pass, in order, and how many rows in all."""


@dataclass(frozen=True, slots=True)
class Source:
    """A rank index to be searched in."""

    owner_id: str
    of_team: bool
    relation: str
    built_at: datetime
    used_since: datetime
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

    def parameters(self, candidates: int) -> dict[str, Any]:
        """Those beside the search's own."""
        parameters: dict[str, Any] = {"candidates": candidates}
        if self.whole_teams:
            parameters["whole_teams"] = list(self.whole_teams)
        for number, source in enumerate(self.indexes):
            for name in ("owner_id", "relation", "built_at", "used_since", "direction"):
                parameters[f"source_{number}_{name}"] = getattr(source, name)
        return parameters


def search_candidates(tables: Tables, wanted: Search, sources: Sources) -> Ranking:
    """The k best among the candidates, as `search`; execute it with both parameters.

    Two columns more, `passed` and `total`, count what passes the filters; min_score is left to the
    caller, who has to see these.
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
    own, teams = tables.memories, tables.team_memories
    found = []
    if not all(of_team):
        among = _nominated(tables, own, [n for n, team in enumerate(of_team) if not team], shape)
        found.append(
            _of_store(scored(tables, own, owned(own), shape, where, among=among), own=True)
        )
    if whole_own:
        found.append(_of_store(_whole(tables, own, owned(own), shape, where), own=True))
    if any(of_team):
        among = _nominated(tables, teams, [n for n, team in enumerate(of_team) if team], shape)
        rows = scored(tables, teams, owned_by_any(teams), shape, where, among=among)
        found.append(_of_store(rows, own=False))
    if whole_teams:
        named = any_of(owner(teams), "whole_teams")
        found.append(_of_store(_whole(tables, teams, named, shape, where), own=False))
    merged = (union_all(*found) if len(found) > 1 else found[0]).subquery("merged")
    best = (
        select(
            merged,
            array(
                [func.count().filter(merged.c.source == n).over() for n in range(len(of_team))]
            ).label(PASSED),
            func.count().over().label(TOTAL),
        )
        .order_by(merged.c.score.desc(), merged.c.id)
        .limit(bindparam("k", type_=Integer()))
        .cte("ranked")
    )
    stores = [(own, owned(own), ~best.c.of_team)]
    if shape.has_teams:
        stores.append((teams, owned_by_any(teams), best.c.of_team))
    hits = [
        in_full(tables, memories, best, shape)
        .add_columns(best.c[PASSED], best.c[TOTAL])
        .where(of_store, whose)
        for memories, whose, of_store in stores
    ]
    if len(hits) == 1:
        return hits[0].order_by(best.c.score.desc(), best.c.id)
    return union_all(*hits).order_by(literal_column("score").desc(), literal_column("id"))


def _of_store(rows: Select[Any], *, own: bool) -> Select[Any]:
    return rows.add_columns(literal_column(str(not own).lower(), Boolean()).label("of_team"))


def _whole(
    tables: Tables,
    memories: MemoryTable,
    whose: Condition,
    shape: Shape,
    where: Sequence[Expression],
) -> Select[Any]:
    """All of an owner without an index; of no source."""
    no_source = literal_column("NULL::integer", Integer()).label("source")
    return scored(tables, memories, whose, shape, where).add_columns(no_source)


def _nominated(tables: Tables, memories: MemoryTable, numbers: Sequence[int], shape: Shape) -> CTE:
    """Owner and id of every row to be scored, once, and the number of the index it comes from."""
    every = union_all(*(_of_index(tables, memories, number, shape) for number in numbers)).subquery(
        "every"
    )
    return (
        select(every.c.owner_id, every.c.id, func.min(every.c.source).label("source"))
        .group_by(every.c.owner_id, every.c.id)
        .cte(f"nominated_{numbers[0]}")
    )


def _of_index(tables: Tables, memories: MemoryTable, number: int, shape: Shape) -> Select[Any]:
    def bound(name: str, type_: Any) -> Any:
        return bindparam(f"source_{number}_{name}", type_=type_)

    owner_id = bound("owner_id", Text())
    since = {name: bound(name, DateTime(timezone=True)) for name in ("built_at", "used_since")}
    found: Any = compiler.schema_function(
        tables.schema,
        "rank_candidates",
        owner_id,
        literal_column(str(memories is tables.team_memories).lower(), Boolean()),
        bound("relation", Text()),
        bound("direction", Text()),
        bindparam("candidates", type_=Integer()),
        since["built_at"],
        since["used_since"] if shape.follows_use else null(),
        type_=Uuid(),
    )
    rows = found.table_valued(
        column("memory_id", Uuid()), column("from_index", Boolean()), name=f"found_{number}"
    )
    source = case((rows.c.from_index, literal_column(str(number), Integer())))
    return select(owner_id.label("owner_id"), rows.c.memory_id.label("id"), source.label("source"))
