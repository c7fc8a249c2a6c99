"""The statements of tuning, which evaluate many candidates on the same pairs of query and memory.

A candidate consists of weights and a half-life. The pairs are written to a temporary table once,
with the values of all signals except the recency whose half-life is tuned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add
from typing import Any

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    DateTime,
    Double,
    FromClause,
    Insert,
    Integer,
    MetaData,
    Select,
    Table,
    Uuid,
    and_,
    bindparam,
    func,
    insert,
    literal_column,
    or_,
    select,
    true,
)

from pgrecall.evaluation.pairs import EvaluationShape, PairSources, signal_value
from pgrecall.evaluation.queries_tables import GAIN, NUMBER, TEMPORARY, relevant_table
from pgrecall.evaluation.rank_statement import comes_before, ideal_place, in_order, log2, score_of
from pgrecall.ranking.conditions import rows_of_arrays
from pgrecall.ranking.custom_condition import Expression
from pgrecall.schema import Tables
from pgrecall.scoring import compiler
from pgrecall.scoring.signals import Keyword, Recency, Signal, requires_embedding

SPEEDS = "speeds"
"""The parameter with the candidates' rates or half-lives, depending on the curve of recency."""


@dataclass(frozen=True, slots=True)
class TuningShape:
    """Everything that the text of the statements depends on."""

    evaluation: EvaluationShape
    """The shape of evaluating the profile that is tuned. Its moments differ, so that pairs have the
    timestamps of ages."""
    recency: Recency | None
    """The signal whose half-life is tuned, if any."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        return self.evaluation.profiles[0]


def weights_name(signal: Signal) -> str:
    """The parameter with the candidates' weights of a signal."""
    return f"weights_{signal.name}"


@lru_cache(maxsize=64)
def pairs_table(shape: TuningShape) -> Table:
    """The temporary table of pairs.

    Columns: number (of the query), id, gain, each signal by its name and, if a half-life is tuned,
    clock (the timestamp that recency counts from) and asked_at (the moment of the query).
    """
    moments = () if shape.recency is None else ("clock", "asked_at")
    return Table(
        "pgrecall_pairs",
        MetaData(schema=TEMPORARY),
        Column(NUMBER, Integer, nullable=False),
        Column("id", Uuid, nullable=False),
        Column(GAIN, Double, nullable=False),
        *(Column(signal.name, Double) for signal in shape.signals),
        *(Column(name, DateTime(timezone=True)) for name in moments),
        prefixes=["TEMPORARY"],
    )


def draw_pairs(tables: Tables, shape: TuningShape, where: Sequence[Expression]) -> Insert:
    """Fills the table of pairs with the relevant memories of each query and the strongest others.

    The others are the best by the present profile, by similarity, by words and by equal weights,
    since sensible weights rank one of these first. Parameters: owner_id or owners, the profile's
    weights, those of the filters, and `most`, the number of pairs per query.
    """
    found = PairSources.of(tables, shape.evaluation, where).pairs(
        clock=None if shape.recency is None else shape.recency.clock
    )
    relevant = relevant_table(tables)
    values = {signal: signal_value(shape.evaluation, found, signal) for signal in shape.signals}
    alike: Any = reduce(add, values.values())
    nothing: ColumnElement[Any] = literal_column("0::float8", Double())

    def place(order: ColumnElement[Any]) -> ColumnElement[int]:
        return func.row_number().over(
            partition_by=found.c[NUMBER], order_by=(order.desc().nulls_last(), found.c.id)
        )

    placed = (
        select(
            found.c[NUMBER],
            found.c.id,
            func.coalesce(relevant.c[GAIN], nothing, type_=Double()).label(GAIN),
            *(value.label(signal.name) for signal, value in values.items()),
            *([] if shape.recency is None else [found.c.clock, found.c.asked_at]),
            place(score_of(shape.evaluation, found, 0)).label("by_start"),
            place(found.c.similarity).label("by_similarity"),
            place(alike).label("by_all"),
            *(
                place(value).label("by_words")
                for signal, value in values.items()
                if isinstance(signal, Keyword)
            ),
        )
        .select_from(
            found.outerjoin(
                relevant, and_(relevant.c[NUMBER] == found.c[NUMBER], relevant.c.id == found.c.id)
            )
        )
        .where(*([~found.c.without_embedding] if requires_embedding(shape.signals) else []))
        .subquery("placed")
    )
    most: Any = bindparam("most", type_=Integer())
    kept = [column for column in placed.c if not column.name.startswith("by_")]
    others = [column for column in placed.c if column.name.startswith("by_")][1:]
    two, part = literal_column("2", Integer()), literal_column(f"{2 * len(others)}", Integer())
    drawn = select(*kept).where(
        or_(
            placed.c[GAIN] > nothing,
            placed.c.by_start * two <= most,
            *(place * part <= most for place in others),
        )
    )
    return insert(pairs_table(shape)).from_select([column.name for column in kept], drawn)


@lru_cache(maxsize=64)
def spread_statement(shape: TuningShape) -> Select[Any]:
    """For each signal in order, whether it differs between the memories of some query."""
    pairs = pairs_table(shape)

    def varies(signal: Signal) -> ColumnElement[Any]:
        value = pairs.c["clock" if signal == shape.recency else signal.name]
        some_unknown = func.count(value) < func.count()
        known = func.count(value) > literal_column("0")
        varies = or_(func.min(value) < func.max(value), and_(some_unknown, known))
        return varies.label(f"varies_{signal.name}")

    of_each = select(*map(varies, shape.signals)).group_by(pairs.c[NUMBER]).subquery("of_each")
    return select(*(func.bool_or(column).label(column.name) for column in of_each.c))


@lru_cache(maxsize=64)
def judge(tables: Tables, shape: TuningShape) -> Select[Any]:
    """For each candidate, its number and `worth`, the mean nDCG over all ranks of the pairs.

    Parameters: candidate_numbers, weights_<signal> and speeds, arrays of the same length.
    """
    pairs = pairs_table(shape)
    columns: dict[str, tuple[str, Any]] = {"candidate": ("candidate_numbers", Integer())}
    columns |= {name: (name, Double()) for name in map(weights_name, shape.signals)}
    if shape.recency is not None:
        columns["speed"] = (SPEEDS, Double())
    candidates = rows_of_arrays("candidates", **columns)
    scores = _scored(tables, shape, candidates, pairs).subquery("scores")
    wanted = (
        _scored(tables, shape, candidates, pairs)
        .where(pairs.c[GAIN] > literal_column("0::float8"))
        .cte("wanted")
        .prefix_with("MATERIALIZED")
    )
    ranks = _ranks(wanted, scores)
    ideal = _ideal(tables)
    per_query = (
        select(
            ranks.c.candidate,
            (
                in_order(func.sum, ranks.c[GAIN] / log2(ranks.c["rank"]))
                / func.min(ideal.c.gain, type_=Double())
            ).label("ndcg"),
        )
        .select_from(ranks.join(ideal, ideal.c[NUMBER] == ranks.c[NUMBER]))
        .group_by(ranks.c.candidate, ranks.c[NUMBER])
        .subquery("per_query")
    )
    return (
        select(per_query.c.candidate, in_order(func.avg, per_query.c.ndcg).label("worth"))
        .group_by(per_query.c.candidate)
        .order_by(per_query.c.candidate)
    )


def _scored(
    tables: Tables, shape: TuningShape, candidates: FromClause, pairs: Table
) -> Select[Any]:
    def value(signal: Signal) -> ColumnElement[Any]:
        if signal != shape.recency or not isinstance(signal, Recency):
            return pairs.c[signal.name]
        return compiler.schema_function(
            tables.schema,
            f"recency_{signal.curve}",
            pairs.c.clock,
            pairs.c.asked_at,
            candidates.c.speed,
            bindparam(None, signal.unknown, type_=Double()),
            type_=Double(),
        )

    total: Any = reduce(
        add,
        (candidates.c[weights_name(signal)] * value(signal) for signal in shape.signals),
    )
    return (
        select(
            candidates.c.candidate,
            pairs.c[NUMBER],
            pairs.c.id,
            pairs.c[GAIN],
            total.label("score"),
        )
        .select_from(candidates.join(pairs, true()))
        .offset(literal_column("0"))
    )


def _ranks(wanted: CTE, scores: FromClause) -> CTE:
    before = comes_before(scores.c.score, scores.c.id, wanted.c.score, wanted.c.id)
    one = literal_column("1", Integer())
    same = and_(scores.c.candidate == wanted.c.candidate, scores.c[NUMBER] == wanted.c[NUMBER])
    return (
        select(
            wanted.c.candidate,
            wanted.c[NUMBER],
            wanted.c[GAIN],
            (one + func.count().filter(before)).label("rank"),
        )
        .select_from(wanted.join(scores, same))
        .group_by(
            *(wanted.c.candidate, wanted.c[NUMBER], wanted.c.id, wanted.c[GAIN], wanted.c.score)
        )
        .cte("ranks")
    )


def _ideal(tables: Tables) -> FromClause:
    """The DCG of the ideal order for each query."""
    relevant = relevant_table(tables)
    place = ideal_place(relevant).label("place")
    placed = select(relevant.c[NUMBER], relevant.c[GAIN], place).subquery("placed")
    gain = in_order(func.sum, placed.c[GAIN] / log2(placed.c.place))
    return select(placed.c[NUMBER], gain.label("gain")).group_by(placed.c[NUMBER]).subquery("ideal")
