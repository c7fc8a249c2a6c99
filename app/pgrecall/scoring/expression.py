"""The SQL of signals and scores, in terms of the rows that every statement joins.

These are `agent_memories`, its `memory_usage`, and `words`, the shares of the query's terms. Names
with a colon are parameters, or places of `schema.composer`. PostgreSQL inlines the functions,
so it evaluates one flat float8 expression per row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import singledispatch

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

CLOCKS = {
    Clock.CREATED_AT: "agent_memories.created_at",
    Clock.LAST_ACCESSED_AT: "coalesce(:last_accessed_at, agent_memories.created_at)",
    # GREATEST ignores NULL.
    Clock.LATEST: "greatest(:last_accessed_at, agent_memories.created_at)",
}
_NEEDED: dict[type[Signal], str] = {Keyword: "words", Time: "period"}
"""Options without which a signal is 0."""


def places(signals: Sequence[Signal], options: Collection[str]) -> dict[str, str]:
    """The SQL that stands in a statement with these options: `score`, Σ weight · signal, with the
    weights as parameters `<signal>_weight`, and `signals`, the array of their values.

    Signals that the query has no value for are left out of the score.
    """
    valued = [signal for signal in signals if has_value(signal, options)]
    terms = (f":{signal.name}_weight::float8 * {value(signal)}" for signal in valued)
    score = "\n         + ".join(terms) or "0::float8"
    if "redistributes" in options:
        score = f"({score})\n         / (SELECT asked.weights_in_use FROM asked)"  # noqa: S608  ours
    values = (value(signal) if signal in valued else "0::float8" for signal in signals)
    accessed = "memory_usage.last_accessed_at"
    moment = "pg_catalog.now()"
    if "as_of" in options:
        moment = ":as_of::timestamptz"
        accessed = f"CASE WHEN {accessed} <= {moment} THEN {accessed} END"
    return {
        "score": score,
        "signals": f"ARRAY[{', '.join(values)}]",
        "moment": moment,
        "last_accessed_at": accessed,
    }


def needed_option(signal: Signal) -> str | None:
    """The option of a statement without which the signal is 0; None: it always has a value."""
    return _NEEDED.get(type(signal))


def has_value(signal: Signal, options: Collection[str]) -> bool:
    option = needed_option(signal)
    return option is None or option in options


@singledispatch
def value(signal: Signal) -> str:
    """One signal, in [0, 1] and never NULL."""
    raise NotImplementedError(f"signal {type(signal).__name__} has no SQL")


@value.register
def _(signal: Similarity) -> str:
    missing = number(signal.missing)
    return f"pgrecall.similarity(agent_memories.embedding, :query, {missing})"


@value.register
def _(signal: Recency) -> str:
    if signal.curve is Curve.EXPONENTIAL:
        speed = _per_row(signal, signal.rate_per_day, rate_of)
    else:
        assert signal.half_life is not None
        speed = _per_row(signal, signal.half_life, float)
    clock, unknown = CLOCKS[signal.clock], number(signal.unknown)
    return f"pgrecall.recency_{signal.curve}({clock}, :moment, {speed}, {unknown})"


@value.register
def _(signal: Usefulness | Importance | Confidence) -> str:
    return f"agent_memories.{signal.name}"


@value.register
def _(signal: Trust) -> str:
    missing = number(signal.missing)
    if not signal.decay:
        return f"coalesce(agent_memories.trust, {missing})"
    return (
        "pgrecall.decayed_trust(agent_memories.trust, :last_accessed_at, :moment, "
        f"agent_memories.trust_curve, agent_memories.trust_half_life_hours, {missing})"
    )


@value.register
def _(signal: Frequency) -> str:
    return f"pgrecall.frequency(memory_usage.retrieval_count, {number(signal.cap)})"


@value.register
def _(signal: EntityOverlap) -> str:
    return "pgrecall.entity_overlap(agent_memories.entities, :query_entities::text[])"


@value.register
def _(signal: Keyword) -> str:
    return (
        "pgrecall.keyword(coalesce(words.share, 0::float8), "
        "pg_catalog.octet_length(agent_memories.content), "
        f"{number(signal.b)}, {number(signal.pivot)})"
    )


@value.register
def _(signal: Time) -> str:
    return (
        "pgrecall.time_nearness(coalesce(agent_memories.observed_at, agent_memories.created_at), "
        f":period_from::timestamptz, :period_to::timestamptz, {number(signal.unknown)}, "
        "agent_memories.observed_at IS NULL)"
    )


def _per_row(signal: Recency, rest: float, converted: Callable[[float], float]) -> str:
    """One number for all rows, or a CASE if half-lives depend on the row's tier or types."""
    otherwise = number(rest)
    half_lives = signal.half_lives_by_tier or signal.half_lives_by_type
    if not half_lives:
        return otherwise
    # A colon could be taken for the beginning of a parameter, and a dot for the end of our schema.
    labels = [quoted(label, "\\:.") for label, _ in half_lives]
    numbers = [number(converted(days)) for _, days in half_lives]
    if signal.half_lives_by_tier:
        arms = [
            f"WHEN agent_memories.tier = {label} THEN {days}"
            for label, days in zip(labels, numbers, strict=True)
        ]
        return f"CASE {' '.join(arms)} ELSE {otherwise} END"
    # Half-lives are sorted, so the first arm that matches is the shortest one that applies.
    assert signal.half_life is not None
    shorter = sum(days <= signal.half_life for _, days in half_lives)
    arms = [
        f"WHEN agent_memories.memory_type = {label} "
        f"OR {label} = ANY (agent_memories.additional_types) THEN {days}"
        for label, days in zip(labels, numbers, strict=True)
    ]
    every = ", ".join(labels)
    rest_arm = (
        f"WHEN agent_memories.memory_type <> ALL (ARRAY[{every}]) "
        f"OR NOT agent_memories.additional_types OPERATOR(pg_catalog.<@) ARRAY[{every}] "
        f"THEN {otherwise}"
    )
    return f"CASE {' '.join((*arms[:shorter], rest_arm, *arms[shorter:]))} ELSE {otherwise} END"


def number(value: float) -> str:
    """All digits, so that SQL uses exactly the same float8."""
    return f"{float(value)!r}::float8"


def quoted(text: str, special: str = "\\") -> str:
    """A text as an SQL literal, with escapes only if necessary."""
    doubled = text.replace("'", "''")
    if all(one.isprintable() and one not in special for one in text):
        return f"'{doubled}'"
    escaped = "".join(
        one if one.isprintable() and one not in special else f"\\U{ord(one):08x}" for one in doubled
    )
    return f"E'{escaped}'"
