"""Evaluating: the ranks of labelled memories by several profiles over many queries, at once.

The queries lie in a temporary table. Each is put beside each memory once; what profiles have in
common (the similarity above all) is computed once for the pair, and what does not depend on the
query once for the memory. A rank is counted, not sorted for: 1 + how many memories come before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import add
from types import SimpleNamespace
from typing import Any, Self

from sqlalchemy import (
    CTE,
    DDL,
    Boolean,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    Subquery,
    Table,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    column,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.schema import ExecutableDDLElement

from pgrecall.ranking.conditions import (
    OWNER,
    OWNERS,
    conditions,
    created_by,
    custom_conditions,
    moment,
    of_owners,
    scope,
    trusted,
    valid,
)
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.entities import entities_of_each
from pgrecall.ranking.filters import FilterShape
from pgrecall.ranking.memory_columns import with_usage
from pgrecall.ranking.words import keyword_shares
from pgrecall.schema import Tables
from pgrecall.schema.temporary_tables import CreateTemporaryTable
from pgrecall.scoring import compiler
from pgrecall.scoring.compiler import Scope
from pgrecall.scoring.signals import (
    Clock,
    Confidence,
    EntityOverlap,
    Importance,
    Keyword,
    Signal,
    Similarity,
    Time,
    Trust,
    Usefulness,
    requires_embedding,
)

NUMBER, GAIN = "number", "gain"
TEMPORARY = "pg_temp"
"""The schema of a session's own tables, so that no other of the same name is dropped."""

_MOMENTS = ("created_at", "observed_at")
_OF_MEMORIES = (
    *("id", "embedding", "entities", "usefulness", "confidence", "importance"),
    *("trust", "trust_curve", "trust_half_life_hours", "tier", "memory_type"),
    *("additional_types", "valid_from", "valid_until", "invalidated_at", "expires_at"),
    *_MOMENTS,
)
_OF_USAGE = ("retrieval_count", "last_accessed_at")


@dataclass(frozen=True, slots=True)
class EvaluationShape:
    """All that the text of the statement depends on."""

    profiles: tuple[tuple[Signal, ...], ...]
    filters: FilterShape
    has_teams: bool
    has_as_of: bool
    """Whether all are asked about one moment that is given; without it, about now."""
    moments_differ: bool
    """Whether queries name moments of their own."""
    finds_entities: bool
    has_text: bool
    has_min_score: bool
    has_min_similarity: bool
    has_period: bool = False
    """Whether some query names a period."""
    redistributes: tuple[bool, ...] = ()
    """Of each profile whether weights of what a query does not tell go to the others."""
    has_recorded: bool = False
    """Whether use has labelled some queries, which are ranked by what was known at their moment."""

    @property
    def owners(self) -> str:
        """The parameter that tells whose memories are ranked."""
        return OWNERS if self.has_teams else OWNER

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Each signal that some profile has, once."""
        return tuple(dict.fromkeys(signal for profile in self.profiles for signal in profile))

    def reads(self, kind: type[Signal]) -> bool:
        """Whether some profile has a signal of this kind."""
        return any(isinstance(signal, kind) for signal in self.signals)


@lru_cache
def create_queries(tables: Tables) -> CreateTemporaryTable:
    """A table for queries on their way in: number, query, as_of, question (what was asked, where
    that is a text), query_text, query_entities, recorded (whether use has made its labels),
    period_from, period_to."""
    return CreateTemporaryTable(
        select(
            literal_column("0", Integer()).label(NUMBER),
            tables.memories.c.embedding.label("query"),
            tables.memories.c.created_at.label("as_of"),
            tables.memories.c.content.label("question"),
            tables.memories.c.content.label("query_text"),
            tables.memories.c.entities.label("query_entities"),
            literal_column("false", Boolean()).label("recorded"),
            tables.memories.c.created_at.label("period_from"),
            tables.memories.c.created_at.label("period_to"),
        ).where(false()),
        "pgrecall_queries",
        schema=TEMPORARY,
    )


@lru_cache
def create_relevant(tables: Tables) -> CreateTemporaryTable:
    """A table for the labels: number of the query, id of the memory, gain."""
    return CreateTemporaryTable(
        select(
            literal_column("0", Integer()).label(NUMBER),
            tables.memories.c.id,
            tables.memories.c.importance.label(GAIN),
        ).where(false()),
        "pgrecall_relevant",
        schema=TEMPORARY,
    )


@lru_cache
def keep_whole(tables: Tables) -> ExecutableDDLElement:
    """Keeps the vectors within the rows: out of line they would be fetched anew for every pair."""
    plain: Any = DDL(  # type: ignore[no-untyped-call]
        "ALTER TABLE %(fullname)s ALTER COLUMN query SET STORAGE PLAIN"
    )
    found: ExecutableDDLElement = plain.against(queries_table(tables))
    return found


@lru_cache
def drop_empty_texts(tables: Tables) -> Update:
    """Takes the texts away in which no term counts, so that they are known to tell nothing."""
    queries = queries_table(tables)
    found: Any = compiler.schema_function(
        tables.schema, "query_terms", queries.c.query_text, type_=Text()
    )
    rows = found.table_valued(column("term", Text()), name="counting")
    has_terms = select(rows.c.term).select_from(rows).correlate(queries).exists()
    return update(queries).where(~has_terms).values(query_text=None)


def queries_table(tables: Tables) -> Table:
    return create_queries(tables).table


def relevant_table(tables: Tables) -> Table:
    return create_relevant(tables).table


def weight_name(profile: int, signal: Signal) -> str:
    """The parameter of a signal's weight in the profile of this number."""
    return f"weight_{profile}_{signal.name}"


def evaluate_statement(
    tables: Tables, shape: EvaluationShape, where: Sequence[Expression]
) -> Select[Any]:
    """For each query its number, how many of its relevant memories are missing, and of each
    profile p recall_p, mrr_p and ndcg_p.

    Parameters: owner_id or owners, as_of where given, `k`, the weights, the filters', min_score and
    min_similarity where given.
    """
    return _evaluate(tables, shape, where) if where else _known_evaluate(tables, shape)


@lru_cache(maxsize=64)
def _known_evaluate(tables: Tables, shape: EvaluationShape) -> Select[Any]:
    return _evaluate(tables, shape, ())


def _evaluate(tables: Tables, shape: EvaluationShape, where: Sequence[Expression]) -> Select[Any]:
    asked = Asked.of(tables, shape, where)
    scores = _scores(shape, asked.pairs(), "scores")
    labelled = asked.pairs(only_relevant=True)
    wanted = select(_scores(shape, labelled, "labelled")).cte("wanted").prefix_with("MATERIALIZED")
    ranks = _ranks(shape, wanted, scores)
    return _metrics(tables, shape, ranks)


def _ranks(shape: EvaluationShape, wanted: CTE, scores: Subquery) -> CTE:
    """The rank of each relevant memory by each profile; NULL where it is not ranked."""

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
    # Two owners may have a memory of one id: the one that comes first answers.
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
        within = case((place <= k, labels.c[GAIN] / log2(place)), else_=zero)
        return func.sum(within, type_=Double())

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


def log2(place: ColumnElement[Any]) -> ColumnElement[Any]:
    """log₂(1 + place), by which a gain is discounted."""
    beyond: Any = literal_column("1::float8", Double()) + cast(place, Double)
    two: ColumnElement[Any] = literal_column("2::float8", Double())
    return func.ln(beyond, type_=Double()) / func.ln(two, type_=Double())


@dataclass(frozen=True, slots=True)
class Asked:
    """What queries and memories are made of, to be put beside each other."""

    tables: Tables
    shape: EvaluationShape
    pool: CTE
    """The memories that may be ranked, with the signals that do not depend on the query."""
    words: CTE | None
    """number, id, share: the keyword signal where it is not 0."""
    entities: CTE | None
    """number, entities: those found in texts."""
    before: Mapping[str, CTE]
    """Of what memories have learned since recorded queries were asked, by column."""

    @classmethod
    def of(cls, tables: Tables, shape: EvaluationShape, where: Sequence[Expression]) -> Self:
        queries = queries_table(tables)
        return cls(
            tables,
            shape,
            _pool(tables, shape, where),
            _words(tables, shape) if shape.has_text and shape.reads(Keyword) else None,
            entities_of_each(tables, queries, shape.owners).cte("named")
            if shape.finds_entities
            else None,
            {name: _before(tables, shape, name) for name in _learned(shape)},
        )

    def pairs(self, *, only_relevant: bool = False, clock: Clock | None = None) -> Subquery:
        """Each query beside each memory it may find: number, id, similarity, and every signal.

        With a clock also what it shows, and asked_at, where the moments differ.
        """
        queries, pool, shape = queries_table(self.tables), self.pool, self.shape
        within, rows = self._beside(only_relevant=only_relevant)
        signals = []
        for signal in shape.signals:
            name = signal_name(shape, signal)
            if isinstance(signal, Similarity):
                continue  # from the similarity itself, which all of them have in common
            ready = not _is_of_pair(signal) and not shape.moments_differ
            signals.append(pool.c[name] if ready else compiler.value(signal, within).label(name))
        unranked = and_(queries.c.query.is_not(None), pool.c.embedding.is_(None))
        return (
            select(
                queries.c[NUMBER],
                pool.c.id,
                compiler.similarity(within).label("similarity"),
                unranked.label("without_embedding"),
                *signals,
                *self._told(within),
                *([] if clock is None else [within.clock(clock).label("clock")]),
                *([] if clock is None else [within.as_of.label("asked_at")]),
            )
            .select_from(rows)
            .where(*self._conditions(within))
            .offset(literal_column("0"))  # or it would be computed anew for each that reads it
            .subquery("labelled_pairs" if only_relevant else "pairs")
        )

    def _beside(self, *, only_relevant: bool) -> tuple[Scope, FromClause]:
        """The pairs' rows, and what signals are computed from in them."""
        queries, relevant = queries_table(self.tables), relevant_table(self.tables)
        pool, words, found = self.pool, self.words, self.entities
        rows: Any = queries
        if only_relevant:
            rows = rows.join(relevant, relevant.c[NUMBER] == queries.c[NUMBER])
            rows = rows.join(pool, pool.c.id == relevant.c.id)
        else:
            rows = rows.join(pool, true())
        keyword: ColumnElement[float] | None = None
        if words is not None:
            same = and_(words.c[NUMBER] == queries.c[NUMBER], words.c.id == pool.c.id)
            rows = rows.outerjoin(words, same)
            keyword = func.coalesce(words.c.share, literal_column("0::float8"), type_=Double())
        entities: ColumnElement[Any] = queries.c.query_entities
        if found is not None:
            rows = rows.outerjoin(found, found.c[NUMBER] == queries.c[NUMBER])
            entities = func.coalesce(entities, found.c.entities, type_=ARRAY(Text))
        as_of = func.coalesce(queries.c.as_of, moment(self.shape.has_as_of))
        known: dict[str, Any] = dict(pool.c.items())
        for name, before in self.before.items():
            rows = rows.outerjoin(
                before,
                and_(
                    queries.c.recorded,
                    before.c.agent_id == pool.c.agent_id,
                    before.c.memory_id == pool.c.id,
                    or_(before.c.since.is_(None), before.c.since < as_of),
                    before.c.until >= as_of,
                ),
            )
            is_older = before.c.memory_id.is_not(None)
            known[name] = case((is_older, before.c.value), else_=pool.c[name])
        if self.shape.has_recorded:  # no event tells when a memory was retrieved
            for name in _OF_USAGE:
                known[name] = case((~queries.c.recorded, pool.c[name]))
        memories: Any = SimpleNamespace(c=SimpleNamespace(**known))
        never: ColumnElement[Any] = literal_column("'infinity'::timestamptz")
        within = Scope(
            schema=self.tables.schema,
            memories=memories,
            usage=memories,
            query=queries.c.query,
            as_of=as_of,
            asked_about=as_of if self.shape.has_as_of else func.coalesce(queries.c.as_of, never),
            query_entities=entities,
            keyword=keyword,
            bytes=None if keyword is None else pool.c.bytes,
            period=(queries.c.period_from, queries.c.period_to) if self.shape.has_period else None,
            parameter=_constant,
        )
        return within, rows

    def _told(self, within: Scope) -> list[ColumnElement[Any]]:
        """Of each signal that a query may tell nothing to compare with, whether it does."""
        if not any(self.shape.redistributes):
            return []
        queries = queries_table(self.tables)
        told: dict[type[Signal], ColumnElement[bool]] = {
            Similarity: queries.c.query.is_not(None),
            Keyword: queries.c.query_text.is_not(None),
            Time: queries.c.period_from.is_not(None),
            EntityOverlap: func.coalesce(
                func.cardinality(within.query_entities) > literal_column("0"), false()
            ),
        }
        return [is_told.label(told_name(kind)) for kind, is_told in told.items()]

    def _conditions(self, within: Scope) -> list[ColumnElement[bool]]:
        """What a memory has to meet at the query's own moment."""
        shape, queries = self.shape, queries_table(self.tables)
        if not shape.moments_differ:
            return []
        found = [] if shape.filters.include_invalid else [valid(within)]
        was_there = created_by(within)
        found.append(was_there if shape.has_as_of else or_(queries.c.as_of.is_(None), was_there))
        if "min_trust" in shape.filters.given:
            found.append(trusted(within, decay=shape.filters.apply_decay))
        return found


_LEARNED: Mapping[type[Signal], str] = {
    Usefulness: "usefulness",
    Importance: "importance",
    Confidence: "confidence",
    Trust: "trust",
}
"""The column of each signal whose changes leave events with the value before."""


def _learned(shape: EvaluationShape) -> list[str]:
    """The columns that have to be known as they were when recorded queries were asked."""
    if not shape.has_recorded:
        return []
    by_trust = "min_trust" in shape.filters.given
    return [
        name for kind, name in _LEARNED.items() if shape.reads(kind) or (by_trust and kind is Trust)
    ]


def _before(tables: Tables, shape: EvaluationShape, name: str) -> CTE:
    """The values that a column had: after `since` and until the change at `until`."""
    events, queries = tables.memory_events, queries_table(tables)
    as_of = func.coalesce(queries.c.as_of, moment(shape.has_as_of))
    earliest = select(func.min(as_of)).where(queries.c.recorded).scalar_subquery()
    key: Any = literal_column(f"'{name}'", Text())
    return (
        select(
            events.c.agent_id,
            events.c.memory_id,
            func.lag(events.c.occurred_at)
            .over(
                partition_by=(events.c.agent_id, events.c.memory_id),
                order_by=(events.c.occurred_at, events.c.id),
            )
            .label("since"),
            events.c.occurred_at.label("until"),
            cast(events.c.old_values[key].as_string(), Double).label("value"),
        )
        .where(
            of_owners(events, shape.owners),
            events.c.event_type != literal_column("'initial'"),
            func.jsonb_exists(events.c.old_values, key, type_=Boolean()),
            events.c.occurred_at >= earliest,
        )
        .cte(f"{name}_before")
        .prefix_with("MATERIALIZED")
    )


def _pool(tables: Tables, shape: EvaluationShape, where: Sequence[Expression]) -> CTE:
    memories, usage = tables.memories, tables.memory_usage
    within = replace(scope(tables, memories, as_of=shape.has_as_of), parameter=_constant)
    columns: list[ColumnElement[Any]]
    if shape.moments_differ:
        columns = [memories.c[name] for name in _OF_MEMORIES]
        columns += [usage.c[name] for name in _OF_USAGE]
        columns += [memories.c.agent_id] if shape.has_recorded else []
        timeless = replace(
            shape.filters, include_invalid=True, given=shape.filters.given - {"min_trust"}
        )
        found = conditions(within, timeless, as_of=False)
    else:
        columns = [memories.c[name] for name in ("id", "embedding", "entities")]
        if shape.has_period and shape.reads(Time):
            columns += [memories.c[name] for name in _MOMENTS]
        columns += [
            compiler.value(signal, within).label(signal_name(shape, signal))
            for signal in shape.signals
            if not _is_of_pair(signal)
        ]
        found = conditions(within, shape.filters, as_of=shape.has_as_of)
    if shape.has_text and shape.reads(Keyword):
        columns.append(func.octet_length(memories.c.content, type_=Integer()).label("bytes"))
    return (
        select(*columns)
        .select_from(with_usage(memories, usage, owners=shape.owners))
        .where(
            of_owners(memories, shape.owners), *found.values(), *custom_conditions(where).values()
        )
        .cte("pool")
        .prefix_with("MATERIALIZED")
    )


def signal_value(shape: EvaluationShape, found: FromClause, signal: Signal) -> ColumnElement[Any]:
    """A signal of a pair, bit by bit as a search computes it."""
    if isinstance(signal, Similarity):
        missing = _constant("missing", signal.missing, Double())
        return func.coalesce(found.c.similarity, missing, type_=Double())
    value: ColumnElement[Any] = found.c[signal_name(shape, signal)]
    return value


def score_of(shape: EvaluationShape, found: FromClause, number: int) -> ColumnElement[Any]:
    """The score of each pair by the profile of this number, added up as a search does."""
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
    told: ColumnElement[Any] = reduce(
        add,
        (
            case((found.c[told_name(type(signal))], weight), else_=nothing)
            if told_name(type(signal)) in found.c
            else weight
            for signal, weight in weights.items()
        ),
    )
    return total / func.coalesce(func.nullif(told, nothing), everything)


def comes_before(
    score: ColumnElement[Any],
    memory_id: ColumnElement[Any],
    other: ColumnElement[Any],
    other_id: ColumnElement[Any],
) -> ColumnElement[bool]:
    """Whether a memory comes before another: best first, ties by id."""
    return or_(score > other, and_(score == other, memory_id < other_id))


def ideal_place(relevant: FromClause) -> ColumnElement[int]:
    """The place of each label in the best order there could be."""
    return func.row_number().over(partition_by=relevant.c[NUMBER], order_by=relevant.c[GAIN].desc())


def _scores(shape: EvaluationShape, found: Subquery, name: str) -> Subquery:
    """The score of each pair by each profile; NULL where the profile does not rank the memory."""

    def score(number: int, signals: tuple[Signal, ...]) -> ColumnElement[Any]:
        total = score_of(shape, found, number)
        ranked: list[ColumnElement[bool]] = []
        if requires_embedding(signals):
            ranked.append(~found.c.without_embedding)
        if shape.has_min_similarity:
            ranked.append(found.c.similarity >= bindparam("min_similarity", type_=Double()))
        if shape.has_min_score:
            ranked.append(total >= bindparam("min_score", type_=Double()))
        return case((and_(*ranked), total)) if ranked else total

    scores = [
        score(number, signals).label(f"score_{number}")
        for number, signals in enumerate(shape.profiles)
    ]
    return select(found.c[NUMBER], found.c.id, *scores).offset(literal_column("0")).subquery(name)


def _words(tables: Tables, shape: EvaluationShape) -> CTE:
    """The keyword signal of every query: number, id, share."""
    queries = queries_table(tables)
    owners: Any = bindparam(OWNERS, type_=ARRAY(Text))
    if not shape.has_teams:
        owners = array([bindparam(OWNER, type_=Text())])
    as_of: ColumnElement[Any] = queries.c.as_of
    if shape.has_as_of:
        as_of = func.coalesce(as_of, moment(True))
    rows = keyword_shares(tables, owners, queries.c.query_text, owners, as_of).lateral()
    return (
        select(queries.c[NUMBER], rows.c.memory_id.label("id"), rows.c.share)
        .select_from(queries.join(rows, true()))
        .cte("words")
    )


def _is_of_pair(signal: Signal) -> bool:
    return isinstance(signal, Similarity | Keyword | EntityOverlap | Time)


def told_name(kind: type[Signal]) -> str:
    """The column that tells whether a query gives signals of this kind something to compare."""
    return f"tells_{kind.name}"


def signal_name(shape: EvaluationShape, signal: Signal) -> str:
    """The column of a signal that is the same for every profile that has it."""
    return f"signal_{shape.signals.index(signal)}"


def _constant(name: str, value: Any, type_: Any) -> ColumnElement[Any]:
    """Without a name: two profiles may have a signal with different parameters."""
    return bindparam(None, value, type_=type_)
