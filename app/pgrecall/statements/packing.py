"""Packing: which of the ranked memories go into a prompt, decided by the statement that ranks."""

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
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from pgrecall import compiler
from pgrecall.context_style import (
    CATEGORY_PIECES,
    LINE_BREAKS,
    MAX_CATEGORY_LENGTH,
    Added,
    Style,
)
from pgrecall.custom_condition import Expression
from pgrecall.schema import Tables
from pgrecall.statements.candidates import PASSED, TOTAL, Sources, SourcesShape, ranked_candidates
from pgrecall.statements.ranking import Search, Shape, by_key, described_in_order, ranked
from pgrecall.token_counting import PIECES

PLACE, COST, VERDICT, STEP, NEAR = "place", "cost", "verdict", "step", "near"
"""Columns: the rank from 1, the tokens it is reckoned to take up, "packed" or the reason why it is
left out, when it was looked at, and the place of the packed memory that it is near to."""
PACKED = "packed"
MOST = 2_000_000_000
"""Tokens that one memory is reckoned to have at most: with its block still an integer."""


@dataclass(frozen=True, slots=True)
class PackingShape:
    """All that the text of the statement depends on, beside the search's own shape."""

    compares: bool
    """Whether memories are compared with those that are in."""
    indents: bool
    escaped: str


@dataclass(frozen=True, slots=True)
class Packing:
    """How to pack; see `operations.context` for the meaning of each."""

    budget: int
    """Tokens for the blocks, what the style writes around them all taken off."""
    most: int
    min_score: float
    max_skips: int
    style: Style
    added: Added
    reserve: Mapping[str, float] = field(default_factory=dict)
    diversity: float = 0.0
    max_similarity: float | None = None
    measured: Mapping[UUID, int] = field(default_factory=dict)
    """What memories were found to take up that were reckoned too small."""

    @property
    def shape(self) -> PackingShape:
        return PackingShape(
            compares=self.diversity > 0 or self.max_similarity is not None,
            indents=bool(self.style.indent),
            escaped=self.style.escaped,
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """Every value, under the name it is bound by."""
        return {
            "budget": self.budget,
            "most": self.most,
            "floor": self.min_score,
            "max_skips": self.max_skips,
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


def pack(tables: Tables, wanted: Search, packing: Packing) -> Select[Any]:
    """The k best memories in full, as `search`, each with its verdict.

    Parameters: those of the search and of the packing.
    """
    if wanted.filters.where:
        return _pack(tables, wanted.shape, packing.shape, wanted.filters.where)
    return _known_pack(tables, wanted.shape, packing.shape)


def pack_candidates(
    tables: Tables, wanted: Search, sources: Sources, packing: Packing
) -> Select[Any]:
    """As `pack`, among the candidates of rank indexes; with the columns of `search_candidates`."""
    shapes = wanted.shape, packing.shape, sources.shape
    if wanted.filters.where:
        return _pack_candidates(tables, *shapes, wanted.filters.where)
    return _known_pack_candidates(tables, *shapes)


@lru_cache(maxsize=256)
def _known_pack(tables: Tables, shape: Shape, packing: PackingShape) -> Select[Any]:
    return _pack(tables, shape, packing, ())


@lru_cache(maxsize=256)
def _known_pack_candidates(
    tables: Tables, shape: Shape, packing: PackingShape, sources: SourcesShape
) -> Select[Any]:
    return _pack_candidates(tables, shape, packing, sources, ())


def _pack(
    tables: Tables, shape: Shape, packing: PackingShape, where: Sequence[Expression]
) -> Select[Any]:
    return _packed(tables, shape, packing, ranked(tables, shape, where))


def _pack_candidates(
    tables: Tables,
    shape: Shape,
    packing: PackingShape,
    sources: SourcesShape,
    where: Sequence[Expression],
) -> Select[Any]:
    best = ranked_candidates(tables, shape, sources, where)
    return _packed(tables, shape, packing, best, PASSED, TOTAL)


def _packed(
    tables: Tables, shape: Shape, packing: PackingShape, best: Select[Any], *carried: str
) -> Select[Any]:
    pool = _pool(tables, shape, packing, best.cte("ranked"))
    verdicts = _verdicts(tables, pool, packing)
    judged = (
        select(pool, *(verdicts.c[name] for name in (VERDICT, STEP, NEAR)))
        .select_from(pool.join(verdicts, verdicts.c[PLACE] == pool.c[PLACE]))
        .cte("judged")
    )
    columns = (PLACE, COST, VERDICT, STEP, NEAR, *carried)
    return described_in_order(tables, shape, judged, *(judged.c[name] for name in columns))


def _pool(tables: Tables, shape: Shape, packing: PackingShape, best: CTE) -> CTE:
    """The ranked rows with their places and what each takes up."""
    memories = by_key(tables, best, shape)
    every = (
        select(
            best,
            memories.c.memory_type,
            _cost(memories, packing).label(COST),
            *([memories.c.embedding] if packing.compares else []),
        )
        .select_from(best.join(memories, true()))
        .subquery("every_row")
    )
    place = func.row_number().over(order_by=(every.c.score.desc(), every.c.id))
    return select(cast(place, Integer).label(PLACE), every).cte("pool").prefix_with("MATERIALIZED")


def _cost(memories: FromClause, packing: PackingShape) -> ColumnElement[int]:
    """Tokens of a memory's text and of what its block adds to it, or what was measured if that is
    more."""
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
    """How often the regular expression is found."""
    return func.regexp_count(text, _text(pattern), type_=Integer())


def _verdicts(tables: Tables, pool: CTE, packing: PackingShape) -> FromClause:
    def all_of(column: ColumnElement[Any]) -> Any:
        array = func.array_agg(aggregate_order_by(column, pool.c[PLACE]), type_=ARRAY(column.type))
        return select(array).scalar_subquery()

    packed: Any = compiler.schema_function(
        tables.schema,
        "pack",
        all_of(pool.c.score),
        all_of(pool.c[COST]),
        all_of(pool.c.memory_type),
        _bound("budget"),
        _bound("most"),
        _bound("floor", Double()),
        _bound("max_skips"),
        _bound("reserved_types", ARRAY(Text)),
        _bound("reserved_shares", ARRAY(Double)),
        _alike(tables, pool) if packing.compares else literal_column("NULL", ARRAY(Double)),
        _bound("diversity", Double()),
        _bound("max_similarity", Double()),
        type_=Integer(),
    )
    names: dict[str, Any] = {PLACE: Integer(), VERDICT: Text(), STEP: Integer(), NEAR: Integer()}
    found: FromClause = packed.table_valued(
        *(column(name, type_) for name, type_ in names.items()), name="verdicts"
    )
    return found


def _alike(tables: Tables, pool: CTE) -> ColumnElement[Any]:
    """The similarity of each row of the pool to each, row by row in one array."""
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
    return select(array).select_from(one.join(other, true())).scalar_subquery()


def _bound(name: str, type_: Any = None) -> Any:
    type_ = Integer() if type_ is None else type_
    return cast(bindparam(name, type_=type_), type_)


def _number(value: int) -> ColumnElement[int]:
    return literal_column(str(value), Integer())


def _text(value: str) -> Any:
    return bindparam(None, value, type_=Text())
