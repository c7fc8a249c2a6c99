"""Packing: selects memories for a prompt, in the statement that ranks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from pgrecall.context.styles import CATEGORY_PIECES, LINE_BREAKS, MAX_CATEGORY_LENGTH, Added, Style
from pgrecall.core.tokens import PIECES
from pgrecall.rank_index.candidates import PASSED, TOTAL, Sources, SourcesShape, ranked_candidates
from pgrecall.ranking.by_key import by_key
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.search_parameters import Search, Shape
from pgrecall.ranking.statement import BESIDE, described_in_order, of_ranked, ranked
from pgrecall.ranking.turns import Turns, with_turns
from pgrecall.schema import Tables
from pgrecall.scoring import compiler

PLACE, COST, VERDICT, STEP, NEAR = "place", "cost", "verdict", "step", "near"
RELEVANT = "relevant"
"""Columns: the rank from 1; the estimated tokens; the verdict, "packed" or the reason for leaving
it out; the order in which verdicts were reached; the rank of the packed memory that it is a near
duplicate of; and whether it reaches the floor of relevance."""
PACKED = "packed"
MAX_SKIPS = 3
"""After so many memories in a row that do not fit, packing stops."""
MOST = 2_000_000_000
"""Greatest estimate of one memory's tokens, so that the sum with its block is still an integer."""


@dataclass(frozen=True, slots=True)
class PackingShape:
    """The part of the statement's shape that a search does not have."""

    compares: bool
    """True if memories are compared with packed ones."""
    indents: bool
    escaped: str


@dataclass(frozen=True, slots=True)
class Packing:
    """The arguments of packing; `MemoryRepository.context` describes each of them."""

    budget: int
    """Tokens for all blocks, without the frame that the style adds around them."""
    most: int
    min_score: float
    min_relevance: float | None
    style: Style
    added: Added
    reserve: Mapping[str, float] = field(default_factory=dict)
    diversity: float = 0.0
    max_similarity: float | None = None
    measured: Mapping[UUID, int] = field(default_factory=dict)
    """Counted tokens of memories whose estimates were too low."""

    @property
    def shape(self) -> PackingShape:
        return PackingShape(
            compares=self.diversity > 0 or self.max_similarity is not None,
            indents=bool(self.style.indent),
            escaped=self.style.escaped,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The values to bind, by name."""
        return {
            "budget": self.budget,
            "most": self.most,
            "floor": self.min_score,
            **({} if self.min_relevance is None else {"min_relevance": self.min_relevance}),
            "per_block": self.added.per_block,
            "per_line": self.added.per_line,
            "per_escape": self.added.per_escape,
            "reserved_types": list(self.reserve),
            "reserved_shares": list(self.reserve.values()),
            "diversity": self.diversity,
            "max_similarity": self.max_similarity,
            "measured_ids": list(self.measured),
            "measured_costs": list(self.measured.values()),
        }


def pack(tables: Tables, wanted: Search, packing: Packing, *, exact: bool = True) -> Select[Any]:
    """All considered memories with the columns of a search, each with its verdict.

    Parameters: those of the search and of the packing. `exact` is that of `with_turns`.
    """
    if wanted.filters.where:
        return _pack(tables, wanted.shape, packing.shape, exact, wanted.filters.where)
    return _known_pack(tables, wanted.shape, packing.shape, exact)


def pack_candidates(
    tables: Tables, wanted: Search, sources: Sources, packing: Packing
) -> Select[Any]:
    """Like `pack`, for candidates of rank indexes; adds the columns of `search_candidates`."""
    shapes = wanted.shape, packing.shape, sources.shape
    if wanted.filters.where:
        return _pack_candidates(tables, *shapes, wanted.filters.where)
    return _known_pack_candidates(tables, *shapes)


@lru_cache(maxsize=256)
def _known_pack(tables: Tables, shape: Shape, packing: PackingShape, exact: bool) -> Select[Any]:
    return _pack(tables, shape, packing, exact, ())


@lru_cache(maxsize=256)
def _known_pack_candidates(
    tables: Tables, shape: Shape, packing: PackingShape, sources: SourcesShape
) -> Select[Any]:
    return _pack_candidates(tables, shape, packing, sources, ())


def _pack(
    tables: Tables,
    shape: Shape,
    packing: PackingShape,
    exact: bool,
    where: Sequence[Expression],
) -> Select[Any]:
    best = ranked(tables, shape, where)
    return _packed(shape, packing, with_turns(tables, shape, best, where, exact=exact))


def _pack_candidates(
    tables: Tables,
    shape: Shape,
    packing: PackingShape,
    sources: SourcesShape,
    where: Sequence[Expression],
) -> Select[Any]:
    best = ranked_candidates(tables, shape, sources, where)
    turns = with_turns(tables, shape, best, where, exact=False)
    return _packed(shape, packing, turns, PASSED, TOTAL)


def _packed(shape: Shape, packing: PackingShape, turns: Turns, *carried: str) -> Select[Any]:
    tables = turns.tables
    pool = _pool(tables, shape, packing, turns.found)
    verdicts = _verdicts(tables, pool, packing, turns.beside if shape.brings_along else None)
    judged = (
        select(pool, *(verdicts.c[name] for name in (VERDICT, STEP, NEAR)))
        .select_from(pool.join(verdicts, verdicts.c[PLACE] == pool.c[PLACE]))
        .cte("judged")
    )
    columns = (PLACE, COST, VERDICT, STEP, NEAR, *carried)
    return described_in_order(tables, shape, judged, *(judged.c[name] for name in columns))


def _pool(tables: Tables, shape: Shape, packing: PackingShape, best: CTE) -> CTE:
    """The ranked rows with their ranks and tokens: relevant ones first, turns to be added last."""
    memories = by_key(tables, best, shape.owners)
    relevant: ColumnElement[bool] = true()
    if shape.shows_relevance:
        least: Any = bindparam("min_relevance", type_=Double())
        relevant = compiler.relevance(of_ranked(tables, shape, memories, best)) >= least
        if BESIDE in best.c:  # the floor does not apply to added turns
            relevant = or_(best.c[BESIDE].is_not(None), relevant)
    every = (
        select(
            best,
            memories.c.memory_type,
            _cost(memories, packing).label(COST),
            relevant.label(RELEVANT),
            *([memories.c.embedding] if packing.compares else []),
        )
        .select_from(best.join(memories, true()))
        .subquery("every_row")
    )
    hits_first = [every.c[BESIDE].is_not(None)] if BESIDE in every.c else []
    best_first = every.c[RELEVANT].desc(), every.c.score.desc(), every.c.id
    place = func.row_number().over(order_by=(*hits_first, *best_first))
    return select(cast(place, Integer).label(PLACE), every).cte("pool").prefix_with("MATERIALIZED")


def _cost(memories: FromClause, packing: PackingShape) -> ColumnElement[int]:
    """The estimated tokens of a memory and its block, or the counted ones if these are more."""
    kind = _matches(memories.c.memory_type, CATEGORY_PIECES)
    added = _bound("per_block") + func.least(kind, _number(MAX_CATEGORY_LENGTH), type_=Integer())
    if packing.indents:
        added += _bound("per_line") * _matches(memories.c.content, LINE_BREAKS)
    if packing.escaped:
        added += _bound("per_escape") * _matches(memories.c.content, packing.escaped)
    uncounted = _matches(memories.c.content, PIECES)
    counted = func.coalesce(memories.c.tokens, uncounted, type_=Integer())
    reckoned = func.least(counted, _number(MOST), type_=Integer()) + added
    found = (
        func.unnest(_bound("measured_ids", ARRAY(Uuid)), _bound("measured_costs", ARRAY(Integer)))
        .table_valued(column("memory_id", Uuid()), column(COST, Integer()), name="measured")
        .render_derived()
    )
    measured = select(found.c[COST]).where(found.c.memory_id == memories.c.id).scalar_subquery()
    return func.greatest(reckoned, measured, type_=Integer())


def _matches(text: ColumnElement[str], pattern: str) -> ColumnElement[int]:
    """The number of matches of a regular expression."""
    return func.regexp_count(text, _text(pattern), type_=Integer())


def _verdicts(tables: Tables, pool: CTE, packing: PackingShape, beside: CTE | None) -> FromClause:
    def all_of(column: ColumnElement[Any]) -> Any:
        return _array(column, pool.c[PLACE])

    score = case((pool.c[RELEVANT], pool.c.score))
    of_hits = select(func.array_agg(aggregate_order_by(score, pool.c[PLACE]), type_=ARRAY(Double)))
    along: list[Any] = []
    if beside is not None:
        of_hits = of_hits.where(pool.c[BESIDE].is_(None))
        along = _along(pool, beside)
    packed: Any = compiler.schema_function(
        tables.schema,
        "pack",
        of_hits.scalar_subquery(),
        all_of(pool.c[COST]),
        all_of(pool.c.memory_type),
        _bound("budget"),
        _bound("most"),
        _bound("floor", Double()),
        _number(MAX_SKIPS),
        _bound("reserved_types", ARRAY(Text)),
        _bound("reserved_shares", ARRAY(Double)),
        _alike(tables, pool) if packing.compares else literal_column("NULL", ARRAY(Double)),
        _bound("diversity", Double()),
        _bound("max_similarity", Double()),
        *along,
        type_=Integer(),
    )
    names: dict[str, Any] = {PLACE: Integer(), VERDICT: Text(), STEP: Integer(), NEAR: Integer()}
    found: FromClause = packed.table_valued(
        *(column(name, type_) for name, type_ in names.items()), name="verdicts"
    )
    return found


def _alike(tables: Tables, pool: CTE) -> ColumnElement[Any]:
    """The similarities of all pairs of relevant hits, as one array in row order."""
    one, other = pool.alias("one"), pool.alias("other")
    similarity: ColumnElement[float] = compiler.schema_function(
        tables.schema,
        "similarity",
        one.c.embedding,
        other.c.embedding,
        literal_column("0::float8", Double()),
        type_=Double(),
    )
    ordered = aggregate_order_by(similarity, one.c[PLACE], other.c[PLACE])
    array = func.array_agg(ordered, type_=ARRAY(Double))
    pairs = select(array).select_from(one.join(other, true()))
    pairs = pairs.where(one.c[RELEVANT], other.c[RELEVANT])
    if BESIDE in pool.c:  # added turns are not compared
        pairs = pairs.where(one.c[BESIDE].is_(None), other.c[BESIDE].is_(None))
    return pairs.scalar_subquery()


def _along(pool: CTE, beside: CTE) -> list[ColumnElement[Any]]:
    """Two arrays of ranks: those of hits, and of the turns to add for them, nearest first."""
    hit, turn = pool.alias("hit"), pool.alias("turn")
    rows = beside.join(
        hit, and_(hit.c.owner_id == beside.c.owner_id, hit.c.id == beside.c.hit)
    ).join(turn, and_(turn.c.owner_id == beside.c.owner_id, turn.c.id == beside.c.id))
    order = hit.c[PLACE], beside.c.distance, turn.c[PLACE]
    empty = literal_column("'{}'::integer[]", ARRAY(Integer))
    return [
        func.coalesce(_array(side.c[PLACE], *order, rows=rows), empty, type_=ARRAY(Integer))
        for side in (hit, turn)
    ]


def _array(
    value: ColumnElement[Any], *order: ColumnElement[Any], rows: FromClause | None = None
) -> ColumnElement[Any]:
    """The values of a column as an array."""
    found = select(func.array_agg(aggregate_order_by(value, *order), type_=ARRAY(value.type)))
    return (found if rows is None else found.select_from(rows)).scalar_subquery()


def _bound(name: str, type_: Any = None) -> Any:
    type_ = Integer() if type_ is None else type_
    return cast(bindparam(name, type_=type_), type_)


def _number(value: int) -> ColumnElement[int]:
    return literal_column(str(value), Integer())


def _text(value: str) -> Any:
    return bindparam(None, value, type_=Text())
