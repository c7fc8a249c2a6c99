"""Searches rank indexes: scores the candidates of the graph and all newer memories exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CTE,
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    Integer,
    Select,
    Text,
    Uuid,
    bindparam,
    case,
    column,
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from pgrecall.ranking.by_key import looked_up
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.search_parameters import Shape
from pgrecall.ranking.statement import ranked_most, scored
from pgrecall.ranking.words import shares_of_each, weighed
from pgrecall.schema import Tables
from pgrecall.scoring import compiler
from pgrecall.scoring.signals import Keyword

WHOLE = "whole_owners"
PASSED, TOTAL = "passed", "total"
"""Columns: how many candidates pass, of the index with the fewest, and how many rows there are."""


@dataclass(frozen=True, slots=True)
class Source:
    """A rank index to search."""

    owner_id: str
    relation: str
    written_until: datetime
    direction: str
    """The query in the rank space, as text."""
    used_direction: str | None
    """The same among memories used since the build; None if use does not matter."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a search: rank indexes, and owners whose memories are all scored."""

    indexes: Sequence[Source]
    whole: Sequence[str]
    """Owners without an index."""
    words: tuple[float, ...] = ()
    """b and pivot of the keyword signal, if the profile has one."""

    @property
    def options(self) -> list[str]:
        """The options of a statement."""
        return ["index", "whole"] if self.whole else ["index"]

    @property
    def shape(self) -> tuple[int, bool]:
        return len(self.indexes), bool(self.whole)

    def parameters(self, candidates: int, reach: int) -> dict[str, Any]:
        """The values to bind in addition to those of the search."""
        fields = ("owner_id", "relation", "direction", "used_direction", "written_until")
        names = ("indexed_owners", "relations", "directions", "used_directions", "written_until")
        parameters: dict[str, Any] = {
            "candidates": candidates,
            "reach": reach,
            **dict(zip(("keyword_b", "keyword_pivot"), self.words, strict=False)),
            **{
                name: [getattr(source, field) for source in self.indexes]
                for name, field in zip(names, fields, strict=True)
            },
        }
        if self.whole:
            parameters[WHOLE] = list(self.whole)
        for number, source in enumerate(self.indexes):
            for name in ("owner_id", "relation", "written_until", "direction", "used_direction"):
                parameters[f"source_{number}_{name}"] = getattr(source, name)
        return parameters


SourcesShape = tuple[int, bool]


def ranked_candidates(
    tables: Tables, shape: Shape, sources: SourcesShape, where: Sequence[Expression]
) -> Select[Any]:
    """The `most` best of the candidates, with the columns of `ranked`, passed and total."""
    indexes, whole = sources
    found = [_among_nominated(tables, range(indexes), shape, where)]
    if whole:
        found.append(scored(tables, shape, where, owners=WHOLE).add_columns(_NO_SOURCE))
    merged = (union_all(*found) if len(found) > 1 else found[0]).subquery("merged")
    return (
        select(
            merged,
            func.least(
                *(func.count().filter(merged.c.source == n).over() for n in range(indexes))
            ).label(PASSED),
            func.count().over().label(TOTAL),
        )
        .order_by(merged.c.score.desc(), merged.c.id)
        .limit(ranked_most(shape))
    )


_NO_SOURCE = literal_column("NULL::integer", Integer()).label("source")


def _bound(number: int, name: str, type_: Any) -> Any:
    """The parameter of one field of a source; see `Sources.parameters`."""
    return bindparam(f"source_{number}_{name}", type_=type_)


def _among_nominated(
    tables: Tables, numbers: Sequence[int], shape: Shape, where: Sequence[Expression]
) -> Select[Any]:
    """The candidates of these indexes, scored."""
    terms = {}
    by_words = any(isinstance(signal, Keyword) for signal in shape.signals)
    if shape.has_text:
        terms = {number: _weighed(tables, number, shape) for number in numbers}
    found = [
        _of_index(tables, number, shape, terms.get(number) if by_words else None)
        for number in numbers
    ]
    nominated = _nominated(found)
    tables, where = looked_up(tables, nominated, shape.owners, where)
    words = None
    if shape.has_text:
        every = union_all(*(select(its) for its in terms.values())).subquery("every_term")
        words = shares_of_each(tables.memories, every)
    return scored(tables, shape, where, among=nominated, words=words)


def _weighed(tables: Tables, number: int, shape: Shape) -> CTE:
    """The query's terms for the owner of this index."""
    owner_id = _bound(number, "owner_id", Text())
    terms = weighed(
        tables, owner_id, exact=False, others=shape.worded_owners, as_of=shape.has_as_of
    )
    return (
        select(
            owner_id.label("owner_id"),
            terms.c.term,
            terms.c.memories,
            terms.c.weight,
            terms.c.idf,
        )
        .cte(f"weighed_{number}")
        .prefix_with("MATERIALIZED")
    )


def _nominated(found: Sequence[Select[Any]]) -> CTE:
    """Owner and id of every row to score, without duplicates, and the number of its index."""
    every = union_all(*found).subquery("every")
    return (
        select(every.c.owner_id, every.c.id, func.min(every.c.source).label("source"))
        .group_by(every.c.owner_id, every.c.id)
        .cte("nominated")
    )


def _of_index(tables: Tables, number: int, shape: Shape, terms: CTE | None) -> Select[Any]:
    """The candidates of one index, by position and by words, and everything newer."""
    owner_id = _bound(number, "owner_id", Text())
    found: Any = compiler.schema_function(
        tables.schema,
        "rank_candidates",
        owner_id,
        _bound(number, "relation", Text()),
        _bound(number, "direction", Text()),
        bindparam("candidates", type_=Integer()),
        _bound(number, "written_until", DateTime(timezone=True)),
        _bound(number, "used_direction", Text()),
        *([] if terms is None else _word_arguments(terms, shape)),
        type_=Uuid(),
    )
    rows = found.table_valued(
        column("memory_id", Uuid()), column("from_index", Boolean()), name=f"found_{number}"
    )
    source = case((rows.c.from_index, literal_column(str(number), Integer())))
    return select(owner_id.label("owner_id"), rows.c.memory_id.label("id"), source.label("source"))


def _word_arguments(terms: CTE, shape: Shape) -> list[ColumnElement[Any]]:
    """The arguments about words: reach, weight, terms with their weights, and b and pivot."""
    [keyword] = (signal for signal in shape.signals if isinstance(signal, Keyword))

    def all_of(column: ColumnElement[Any]) -> ColumnElement[Any]:
        found = func.array_agg(aggregate_order_by(column, terms.c.term), type_=ARRAY(column.type))
        every = select(found).scalar_subquery()
        return func.coalesce(every, literal_column("'{}'"), type_=ARRAY(column.type))

    return [
        bindparam("reach", type_=Integer()),
        bindparam("keyword_weight", type_=Double()),
        *(all_of(column) for column in (terms.c.term, terms.c.memories, terms.c.weight)),
        compiler.bound("keyword_b", keyword.b, Double()),
        compiler.bound("keyword_pivot", keyword.pivot, Double()),
    ]
