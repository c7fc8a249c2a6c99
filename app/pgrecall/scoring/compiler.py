"""Compiles a profile to one SQL expression over the signal functions.

PostgreSQL inlines these functions, so it evaluates one flat float8 expression per row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce, singledispatch
from operator import add
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Text,
    any_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    not_,
    or_,
)
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import Function
from sqlalchemy.types import TypeEngine

from pgrecall.core.embedding_type import Embedding
from pgrecall.scoring.signals import (
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Keyword,
    Recency,
    Signal,
    Similarity,
    Time,
    Trust,
    Usefulness,
    rate_of,
)

T = TypeVar("T")
Expression = ColumnElement[float]
Parameter = Callable[[str, Any, Any], ColumnElement[Any]]
_NOTHING: Expression = literal_column("0::float8", Double())


def bound(name: str, value: Any, type_: Any) -> BindParameter[Any]:
    """A value as a named bound parameter."""
    return bindparam(name, value, type_=type_)


def schema_function(
    schema: str, name: str, *arguments: ColumnElement[Any], type_: TypeEngine[T]
) -> ColumnElement[T]:
    """A call of one of our functions; with an empty schema it is found by the search_path."""
    return _Call(name, *arguments, type_=type_, packagenames=(schema,) if schema else ())


class _Call(Function[Any]):
    """A function call whose schema is quoted if necessary; SQLAlchemy never quotes it."""

    inherit_cache = True


@compiles(_Call)
def _written(call: _Call, compiler: SQLCompiler, **options: Any) -> str:
    qualified = [compiler.preparer.quote(part) for part in (*call.packagenames, call.name)]
    return ".".join(qualified) + compiler.process(call.clause_expr, **options)


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables, columns and query values that one statement computes signals from."""

    schema: str
    """The schema of the signal functions; empty: they are found by the search_path."""
    memories: FromClause
    usage: FromClause
    query: ColumnElement[Any]
    """The query vector; NULL if there is none."""
    as_of: ColumnElement[Any]
    """The moment at which ages are measured."""
    query_entities: ColumnElement[Any]
    """A text array without duplicates."""
    explicit_as_of: ColumnElement[Any] | None = None
    """An explicit `as_of`: retrievals after it are ignored. None: there is none."""
    keyword: ColumnElement[float] | None = None
    """The share of the query's known terms that a memory has; None: the query has no text."""
    coverage: ColumnElement[float] | None = None
    """The weight of the query's known terms, those that some memory has, as a share of all."""
    comparable: ColumnElement[float] | None = None
    """How many of similarity and keyword the query can be compared by; None: one."""
    period: tuple[ColumnElement[Any], ColumnElement[Any]] | None = None
    """Start and end of the query's period; None: it has none."""
    weights_in_use: ColumnElement[float] | None = None
    """With redistribution: the sum of the weights of the signals that the query has a value for.
    The score is divided by it. None: no redistribution."""
    apply_decay: ColumnElement[bool] | None = None
    """SQL condition that trust decays; None: as the profile says."""
    parameter: Parameter = bound
    """Renders a weight or a parameter of a signal, given its name, value and type."""

    def function(self, name: str, *arguments: ColumnElement[Any]) -> Expression:
        return schema_function(self.schema, name, *arguments, type_=Double())

    def number(self, name: str, value: float) -> Expression:
        return self.parameter(name, value, Double())

    @property
    def last_accessed_at(self) -> ColumnElement[Any]:
        """The last access; NULL if there was none up to an explicit `as_of`."""
        accessed: ColumnElement[Any] = self.usage.c.last_accessed_at
        if self.explicit_as_of is None:
            return accessed
        return case((accessed <= self.explicit_as_of, accessed))

    def clock(self, clock: Clock) -> ColumnElement[Any]:
        created, accessed = self.memories.c.created_at, self.last_accessed_at
        match clock:
            case Clock.CREATED_AT:
                return created
            case Clock.LAST_ACCESSED_AT:
                return func.coalesce(accessed, created)
            case Clock.LATEST:
                return func.greatest(accessed, created)  # GREATEST ignores NULL


def query_parameter() -> BindParameter[Any]:
    return bindparam("query", type_=Embedding(), required=True)


def query_entities_parameter() -> ColumnElement[Any]:
    return bindparam("query_entities", type_=ARRAY(Text), required=True)


def score(signals: Sequence[Signal], scope: Scope) -> Expression:
    """The score as one expression, Σ weight · signal.

    Weights are parameters named `<signal>_weight`, whose values are bound at execution.
    """
    weighted = (weight(signal) * value(signal, scope) for signal in signals)
    total: Expression = reduce(add, weighted)
    return total if scope.weights_in_use is None else total / scope.weights_in_use


def weight(signal: Signal) -> BindParameter[float]:
    return bindparam(f"{signal.name}_weight", type_=Double())


def similarity(scope: Scope) -> Expression:
    """The cosine similarity, at least 0; NULL if there is no embedding or no query vector."""
    return scope.function(
        "similarity",
        scope.memories.c.embedding,
        scope.query,
        scope.parameter("no_similarity", None, Double()),
    )


def cosine(scope: Scope) -> Expression:
    """The cosine of embedding and query, in [-1, 1]; NULL as for `similarity`."""
    return scope.function("cosine", scope.memories.c.embedding, scope.query)


def relevance(scope: Scope) -> Expression:
    """The relevance, computed from similarity and keyword alone and independent of the profile."""
    keyword: Expression = literal_column("NULL::float8", Double())
    if scope.keyword is not None and scope.coverage is not None:
        keyword = _keyword(Keyword(), scope, scope.keyword * scope.coverage, "relevance")
    comparable = scope.comparable
    if comparable is None:
        comparable = literal_column("1::float8", Double())
    return scope.function("relevance", similarity(scope), keyword, comparable)


@singledispatch
def value(signal: Signal, scope: Scope) -> Expression:
    """One signal as an expression in [0, 1], never NULL."""
    raise NotImplementedError(f"signal {type(signal).__name__} has no SQL")


@value.register
def _(signal: Similarity, scope: Scope) -> Expression:
    return scope.function(
        "similarity",
        scope.memories.c.embedding,
        scope.query,
        scope.number("similarity_missing", signal.missing),
    )


@value.register
def _(signal: Recency, scope: Scope) -> Expression:
    speed = _rates(signal, scope) if signal.curve is Curve.EXPONENTIAL else _days(signal, scope)
    return scope.function(
        f"recency_{signal.curve}",
        scope.clock(signal.clock),
        scope.as_of,
        speed,
        scope.number("recency_unknown", signal.unknown),
    )


@value.register
def _(signal: Usefulness, scope: Scope) -> Expression:
    return scope.memories.c.usefulness


@value.register
def _(signal: Importance, scope: Scope) -> Expression:
    return scope.memories.c.importance


@value.register
def _(signal: Confidence, scope: Scope) -> Expression:
    return scope.memories.c.confidence


@value.register
def _(signal: Trust, scope: Scope) -> Expression:
    columns, missing = scope.memories.c, scope.number("trust_missing", signal.missing)
    stored = func.coalesce(columns.trust, missing, type_=Double())
    if not signal.decay:
        return stored
    decayed = scope.function(
        "decayed_trust",
        columns.trust,
        scope.last_accessed_at,
        scope.as_of,
        columns.trust_curve,
        columns.trust_half_life_hours,
        missing,
    )
    if scope.apply_decay is None:
        return decayed
    return case((scope.apply_decay, decayed), else_=stored)


@value.register
def _(signal: Frequency, scope: Scope) -> Expression:
    return scope.function(
        "frequency", scope.usage.c.retrieval_count, scope.number("frequency_cap", signal.cap)
    )


@value.register
def _(signal: EntityOverlap, scope: Scope) -> Expression:
    return scope.function("entity_overlap", scope.memories.c.entities, scope.query_entities)


@value.register
def _(signal: Keyword, scope: Scope) -> Expression:
    if scope.keyword is None:
        return _NOTHING
    return _keyword(signal, scope, scope.keyword, "keyword")


def _keyword(signal: Keyword, scope: Scope, share: Expression, name: str) -> Expression:
    length = func.octet_length(scope.memories.c.content, type_=Integer())
    b, pivot = scope.number(f"{name}_b", signal.b), scope.number(f"{name}_pivot", signal.pivot)
    return scope.function("keyword", share, length, b, pivot)


@value.register
def _(signal: Time, scope: Scope) -> Expression:
    if scope.period is None:
        return _NOTHING
    columns, unknown = scope.memories.c, scope.number("time_unknown", signal.unknown)
    moment = func.coalesce(columns.observed_at, columns.created_at)
    return scope.function("time_nearness", moment, *scope.period, unknown)


def _rates(signal: Recency, scope: Scope) -> Expression:
    return _per_row(signal, scope, "recency_rate", signal.rate_per_day, rate_of)


def _days(signal: Recency, scope: Scope) -> Expression:
    assert signal.half_life is not None
    return _per_row(signal, scope, "recency_half_life", signal.half_life, float)


def _per_row(
    signal: Recency, scope: Scope, name: str, rest: float, number: Callable[[float], float]
) -> Expression:
    """One number for all rows, or a CASE if half-lives depend on the row's tier or types."""
    columns = scope.memories.c
    otherwise = scope.number(name, rest)
    half_lives = signal.half_lives_by_tier or signal.half_lives_by_type
    if not half_lives:
        return otherwise
    labels = [
        scope.parameter(f"{name}_{i}_for", label, Text()) for i, (label, _) in enumerate(half_lives)
    ]
    numbers = [scope.number(f"{name}_{i}", number(days)) for i, (_, days) in enumerate(half_lives)]
    if signal.half_lives_by_tier:
        arms = [(columns.tier == label, n) for label, n in zip(labels, numbers, strict=True)]
        return case(*arms, else_=otherwise)
    # Half-lives are sorted, so the first arm that matches is the shortest one that applies.
    assert signal.half_life is not None
    shorter = sum(days <= signal.half_life for _, days in half_lives)
    arms = [(_has_type(columns, label), n) for label, n in zip(labels, numbers, strict=True)]
    rest_arm = (_has_other_type(columns, labels), otherwise)
    return case(*arms[:shorter], rest_arm, *arms[shorter:], else_=otherwise)


def _has_type(columns: Any, label: ColumnElement[Any]) -> ColumnElement[bool]:
    return or_(columns.memory_type == label, label == any_(columns.additional_types))


def _has_other_type(columns: Any, labels: list[ColumnElement[Any]]) -> ColumnElement[bool]:
    """Condition: one of the memory's types has no half-life of its own."""
    contained = columns.additional_types.op("<@", is_comparison=True, return_type=Boolean())
    return or_(
        columns.memory_type.not_in(labels), not_(contained(cast(array(labels), ARRAY(Text))))
    )
