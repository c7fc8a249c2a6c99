"""Compiles a profile into one SQL expression over the signal functions.

The functions are inlined by PostgreSQL, so what runs is one flat float8 expression per row.
Weights and parameters are bound, under names that tell what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce, singledispatch
from operator import add
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Double, FromClause, bindparam, func

from pgrecall.profile import Profile
from pgrecall.schema.types import Embedding
from pgrecall.signals import (
    Clock,
    Confidence,
    Frequency,
    Recency,
    Signal,
    Similarity,
    Usefulness,
)

Expression = ColumnElement[float]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the signals of one statement are computed from."""

    schema: str
    """Where the signal functions are installed."""
    memories: FromClause
    usage: FromClause
    query: BindParameter[Any]
    """The query vector."""
    as_of: ColumnElement[Any]
    """The moment that ages are measured at."""

    def function(self, name: str, *arguments: ColumnElement[Any]) -> Expression:
        call = getattr(getattr(func, self.schema), name)
        expression: Expression = call(*arguments, type_=Double())
        return expression

    def clock(self, clock: Clock) -> ColumnElement[Any]:
        created, accessed = self.memories.c.created_at, self.usage.c.last_accessed_at
        match clock:
            case Clock.CREATED_AT:
                return created
            case Clock.LAST_ACCESSED_AT:
                return func.coalesce(accessed, created)
            case Clock.LATEST:
                return func.greatest(accessed, created)  # GREATEST passes over NULL


def query_parameter() -> BindParameter[Any]:
    return bindparam("query", type_=Embedding(), required=True)


def score(profile: Profile, scope: Scope) -> Expression:
    """The profile as one expression: the sum of weight · signal."""
    return reduce(
        add,
        (
            _parameter(f"{signal.name}_weight", weight) * value(signal, scope)
            for signal, weight in profile
        ),
    )


def similarity(scope: Scope) -> Expression:
    """Cosine similarity itself: NULL where the memory has no embedding."""
    return scope.function(
        "similarity",
        scope.memories.c.embedding,
        scope.query,
        bindparam("no_similarity", None, type_=Double()),
    )


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
        _parameter("similarity_missing", signal.missing),
    )


@value.register
def _(signal: Recency, scope: Scope) -> Expression:
    return scope.function(
        "recency_exponential",
        scope.clock(signal.clock),
        scope.as_of,
        _parameter("recency_rate", signal.rate_per_day),
        _parameter("recency_unknown", signal.unknown),
    )


@value.register
def _(signal: Usefulness, scope: Scope) -> Expression:
    return scope.memories.c.usefulness


@value.register
def _(signal: Confidence, scope: Scope) -> Expression:
    return scope.memories.c.confidence


@value.register
def _(signal: Frequency, scope: Scope) -> Expression:
    return scope.function(
        "frequency", scope.usage.c.retrieval_count, _parameter("frequency_cap", signal.cap)
    )


def _parameter(name: str, value: float) -> BindParameter[float]:
    return bindparam(name, value, type_=Double())
