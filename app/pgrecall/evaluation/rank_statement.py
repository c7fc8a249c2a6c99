"""The statement of an evaluation: ranks of relevant memories by several profiles and many queries.

The queries are in a temporary table, which is joined to the memories once. What profiles have in
common, above all the similarity, is computed once per pair; what does not depend on the query, once
per memory. A rank is found by counting, not by sorting: 1 + the number of memories before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from operator import add
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    Subquery,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from pgrecall.evaluation.pairs import EvaluationShape, PairSources, has_value_name, signal_value
from pgrecall.evaluation.queries_tables import GAIN, NUMBER, relevant_table
from pgrecall.ranking.conditions import (
    of_owners,
)
from pgrecall.ranking.custom_condition import Expression
from pgrecall.schema import Tables
from pgrecall.scoring.signals import (
    Signal,
    requires_embedding,
)


def weight_name(profile: int, signal: Signal) -> str:
    """The parameter with the weight of a signal in the profile of this number."""
    return f"weight_{profile}_{signal.name}"


def evaluate_statement(
    tables: Tables, shape: EvaluationShape, where: Sequence[Expression]
) -> Select[Any]:
    """The metrics of each query.

    Columns: its number, how many of its relevant memories are missing, and recall_p, mrr_p and
    ndcg_p for each profile p. Parameters: owner_id or owners, k, the weights, those of the filters,
    and as_of, min_score and min_similarity if given.
    """
    return _evaluate(tables, shape, where) if where else _known_evaluate(tables, shape)


@lru_cache(maxsize=64)
def _known_evaluate(tables: Tables, shape: EvaluationShape) -> Select[Any]:
    return _evaluate(tables, shape, ())


def _evaluate(tables: Tables, shape: EvaluationShape, where: Sequence[Expression]) -> Select[Any]:
    sources = PairSources.of(tables, shape, where)
    scores = _scores(shape, sources.pairs(), "scores")
    labelled = sources.pairs(only_relevant=True)
    wanted = select(_scores(shape, labelled, "labelled")).cte("wanted").prefix_with("MATERIALIZED")
    ranks = _ranks(shape, wanted, scores)
    return _metrics(tables, shape, ranks)


def _ranks(shape: EvaluationShape, wanted: CTE, scores: Subquery) -> CTE:
    """The rank of each relevant memory by each profile; NULL if it is not ranked."""

    def rank(name: str) -> ColumnElement[Any]:
        theirs, its = scores.c[name], wanted.c[name]
        before = comes_before(theirs, scores.c.id, its, wanted.c.id)
        counted = literal_column("1", Integer()) + func.count().filter(before)
        return case((its.is_not(None), counted)).label(name)

    names = [f"score_{number}" for number in range(len(shape.profiles))]
    ranks = (
        select(wanted.c[NUMBER], wanted.c.id, *map(rank, names))
        .select_from(wanted.join(scores, scores.c[NUMBER] == wanted.c[NUMBER]))
        .group_by(wanted.c[NUMBER], wanted.c.id, *(wanted.c[name] for name in names))
    )
    if not shape.has_teams:
        return ranks.cte("ranks")
    # If two owners have a memory of one id, the better rank counts.
    each = ranks.subquery("of_each")
    best = (func.min(each.c[name], type_=Integer()).label(name) for name in names)
    one_of_each = select(each.c[NUMBER], each.c.id, *best).group_by(each.c[NUMBER], each.c.id)
    return one_of_each.cte("ranks")


def _metrics(tables: Tables, shape: EvaluationShape, ranks: CTE) -> Select[Any]:
    relevant = relevant_table(tables)
    memories = tables.memories
    k: Any = bindparam("k", type_=Integer())
    zero: ColumnElement[Any] = literal_column("0::float8", Double())
    there = (
        select(memories.c.id)
        .where(of_owners(memories, shape.owners), memories.c.id == relevant.c.id)
        .limit(literal_column("1"))
        .lateral("there")
    )
    labels = (
        select(
            relevant.c[NUMBER],
            relevant.c.id,
            relevant.c[GAIN],
            ideal_place(relevant).label("place"),
            there.c.id.is_(None).label("missing"),
        )
        .select_from(relevant.outerjoin(there, true()))
        .subquery("labels")
    )

    def discounted(place: ColumnElement[Any]) -> ColumnElement[Any]:
        return in_order(func.sum, case((place <= k, labels.c[GAIN] / log2(place)), else_=zero))

    columns: list[ColumnElement[Any]] = []
    for number in range(len(shape.profiles)):
        rank = ranks.c[f"score_{number}"]
        found = func.count().filter(rank <= k)
        first = literal_column("1::float8", Double()) / func.min(rank, type_=Integer())
        columns += [
            (cast(found, Double) / cast(func.count(), Double)).label(f"recall_{number}"),
            func.coalesce(first, zero, type_=Double()).label(f"mrr_{number}"),
            (discounted(rank) / discounted(labels.c.place)).label(f"ndcg_{number}"),
        ]
    return (
        select(
            labels.c[NUMBER],
            func.count().filter(labels.c.missing).label("missing"),
            *columns,
        )
        .select_from(
            labels.outerjoin(
                ranks, and_(ranks.c[NUMBER] == labels.c[NUMBER], ranks.c.id == labels.c.id)
            )
        )
        .group_by(labels.c[NUMBER])
        .order_by(labels.c[NUMBER])
    )


def in_order(
    aggregate: Callable[..., ColumnElement[Any]], values: ColumnElement[Any]
) -> ColumnElement[Any]:
    """A sum or mean. Its last bit does not depend on the plan, since the values are sorted."""
    return aggregate(aggregate_order_by(values, values), type_=Double())


def log2(place: ColumnElement[Any]) -> ColumnElement[Any]:
    """log₂(1 + place), the discount of a gain."""
    beyond: Any = literal_column("1::float8", Double()) + cast(place, Double)
    two: ColumnElement[Any] = literal_column("2::float8", Double())
    return func.ln(beyond, type_=Double()) / func.ln(two, type_=Double())


def score_of(shape: EvaluationShape, found: FromClause, number: int) -> ColumnElement[Any]:
    """The score of each pair by the profile of this number, summed in the order of a search."""
    signals = shape.profiles[number]
    weights: dict[Signal, Any] = {
        signal: bindparam(weight_name(number, signal), type_=Double()) for signal in signals
    }
    total: ColumnElement[Any] = reduce(
        add, (weights[signal] * signal_value(shape, found, signal) for signal in signals)
    )
    if number >= len(shape.redistributes) or not shape.redistributes[number]:
        return total
    nothing: ColumnElement[Any] = literal_column("0::float8", Double())
    everything: ColumnElement[Any] = literal_column("1::float8", Double())
    weights_in_use: ColumnElement[Any] = reduce(
        add,
        (
            case((found.c[has_value_name(type(signal))], weight), else_=nothing)
            if has_value_name(type(signal)) in found.c
            else weight
            for signal, weight in weights.items()
        ),
    )
    return total / func.coalesce(func.nullif(weights_in_use, nothing), everything)


def comes_before(
    score: ColumnElement[Any],
    memory_id: ColumnElement[Any],
    other: ColumnElement[Any],
    other_id: ColumnElement[Any],
) -> ColumnElement[bool]:
    """Condition: a memory comes before another, best first, ties by id."""
    return or_(score > other, and_(score == other, memory_id < other_id))


def ideal_place(relevant: FromClause) -> ColumnElement[int]:
    """The place of each label in the ideal order."""
    return func.row_number().over(partition_by=relevant.c[NUMBER], order_by=relevant.c[GAIN].desc())


def _scores(shape: EvaluationShape, found: Subquery, name: str) -> Subquery:
    """The score of each pair by each profile; NULL if the profile does not rank the memory."""

    def score(number: int, signals: tuple[Signal, ...]) -> ColumnElement[Any]:
        total = score_of(shape, found, number)
        ranked: list[ColumnElement[bool]] = []
        if requires_embedding(signals):
            ranked.append(~found.c.without_embedding)
        if shape.has_min_similarity:
            ranked.append(found.c.cosine >= bindparam("min_similarity", type_=Double()))
        if shape.has_min_score:
            ranked.append(total >= bindparam("min_score", type_=Double()))
        return case((and_(*ranked), total)) if ranked else total

    scores = [
        score(number, signals).label(f"score_{number}")
        for number, signals in enumerate(shape.profiles)
    ]
    return select(found.c[NUMBER], found.c.id, *scores).offset(literal_column("0")).subquery(name)
