"""Pairs of judged queries and memories, with the signals of each pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

from sqlalchemy import (
    CTE,
    Boolean,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Subquery,
    Text,
    and_,
    bindparam,
    case,
    cast,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, array

from pgrecall.evaluation.queries_tables import NUMBER, queries_table, relevant_table
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
from pgrecall.ranking.statement import in_full
from pgrecall.ranking.words import keyword_shares
from pgrecall.schema import Tables
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
)

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
    """Everything that the text of the statement depends on."""

    profiles: tuple[tuple[Signal, ...], ...]
    filters: FilterShape
    has_teams: bool
    has_as_of: bool
    """True if all queries have one explicit as_of."""
    moments_differ: bool
    """True if queries have moments of their own."""
    finds_entities: bool
    has_text: bool
    has_min_score: bool
    has_min_similarity: bool
    has_period: bool = False
    """True if some query has a period."""
    redistributes: tuple[bool, ...] = ()
    """For each profile, whether it redistributes weights of signals that a query has no value for.
    """
    has_recorded: bool = False
    """True if some queries are recorded, which are ranked by the signals of their moment."""

    @property
    def owners(self) -> str:
        """The parameter with the owners: OWNER or OWNERS."""
        return OWNERS if self.has_teams else OWNER

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals of all profiles, without duplicates."""
        return tuple(dict.fromkeys(signal for profile in self.profiles for signal in profile))

    def reads(self, kind: type[Signal]) -> bool:
        """True if some profile has a signal of this kind."""
        return any(isinstance(signal, kind) for signal in self.signals)


@dataclass(frozen=True, slots=True)
class PairSources:
    """The common table expressions that pairs are joined from."""

    tables: Tables
    shape: EvaluationShape
    pool: CTE
    """The memories that may be ranked, with the signals that do not depend on the query."""
    words: CTE | None
    """number, id, share: the keyword signals that are not 0."""
    entities: CTE | None
    """number, entities: the entities found in the texts of queries."""
    before: Mapping[str, CTE]
    """Former values of the columns that changed after recorded queries, by column."""

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
        """Each query with each memory it may find: number, id, similarity and all signals.

        With `clock`, also the clock's timestamp and, if moments differ, asked_at.
        """
        queries, pool, shape = queries_table(self.tables), self.pool, self.shape
        within, rows = self._beside(only_relevant=only_relevant)
        signals = []
        for signal in shape.signals:
            name = signal_name(shape, signal)
            if isinstance(signal, Similarity):
                continue  # derived from the column similarity
            ready = not _is_of_pair(signal) and not shape.moments_differ
            signals.append(pool.c[name] if ready else compiler.value(signal, within).label(name))
        unranked = and_(queries.c.query.is_not(None), pool.c.embedding.is_(None))
        return (
            select(
                queries.c[NUMBER],
                pool.c.id,
                compiler.similarity(within).label("similarity"),
                *([compiler.cosine(within).label("cosine")] if shape.has_min_similarity else []),
                unranked.label("without_embedding"),
                *signals,
                *self._has_values(within),
                *([] if clock is None else [within.clock(clock).label("clock")]),
                *([] if clock is None else [within.as_of.label("asked_at")]),
            )
            .select_from(rows)
            .where(*self._conditions(within))
            .offset(literal_column("0"))  # otherwise it would be computed again for every reference
            .subquery("labelled_pairs" if only_relevant else "pairs")
        )

    def _beside(self, *, only_relevant: bool) -> tuple[Scope, FromClause]:
        """The rows of the pairs, and the scope of their signals."""
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
        if self.shape.has_recorded:  # no event records retrievals, so they are ignored
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
            explicit_as_of=as_of if self.shape.has_as_of else func.coalesce(queries.c.as_of, never),
            query_entities=entities,
            keyword=keyword,
            bytes=None if keyword is None else pool.c.bytes,
            period=(queries.c.period_from, queries.c.period_to) if self.shape.has_period else None,
            parameter=_constant,
        )
        return within, rows

    def _has_values(self, within: Scope) -> list[ColumnElement[Any]]:
        """For each kind of signal that a query may have no value for, whether it has one."""
        if not any(self.shape.redistributes):
            return []
        queries = queries_table(self.tables)
        has_value: dict[type[Signal], ColumnElement[bool]] = {
            Similarity: queries.c.query.is_not(None),
            Keyword: queries.c.query_text.is_not(None),
            Time: queries.c.period_from.is_not(None),
            EntityOverlap: func.coalesce(
                func.cardinality(within.query_entities) > literal_column("0"), false()
            ),
        }
        return [condition.label(has_value_name(kind)) for kind, condition in has_value.items()]

    def _conditions(self, within: Scope) -> list[ColumnElement[bool]]:
        """The conditions on a memory that depend on the query's own moment."""
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
"""The columns of signals whose changes are recorded as events with the former value."""


def _learned(shape: EvaluationShape) -> list[str]:
    """The columns whose former values recorded queries need."""
    if not shape.has_recorded:
        return []
    by_trust = "min_trust" in shape.filters.given
    return [
        name for kind, name in _LEARNED.items() if shape.reads(kind) or (by_trust and kind is Trust)
    ]


def _before(tables: Tables, shape: EvaluationShape, name: str) -> CTE:
    """The former values of a column, each valid after `since` and until `until`."""
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
    rows, condition = in_full(tables, shape.owners, found | custom_conditions(where))
    return (
        select(*columns).select_from(rows).where(condition).cte("pool").prefix_with("MATERIALIZED")
    )


def signal_value(shape: EvaluationShape, found: FromClause, signal: Signal) -> ColumnElement[Any]:
    """The signal of a pair, bit for bit equal to that of a search."""
    if isinstance(signal, Similarity):
        missing = _constant("missing", signal.missing, Double())
        return func.coalesce(found.c.similarity, missing, type_=Double())
    value: ColumnElement[Any] = found.c[signal_name(shape, signal)]
    return value


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


def has_value_name(kind: type[Signal]) -> str:
    """The column that says whether a query has a value for signals of this kind."""
    return f"has_value_{kind.name}"


def signal_name(shape: EvaluationShape, signal: Signal) -> str:
    """The column of a signal, shared by all profiles that have it."""
    return f"signal_{shape.signals.index(signal)}"


def _constant(name: str, value: Any, type_: Any) -> ColumnElement[Any]:
    """A parameter with a generated name, since profiles may differ in a signal's parameters."""
    return bindparam(None, value, type_=type_)
