"""The SQL of signals and scores, in terms of the rows that every statement joins.

These are `agent_memories`, its `memory_usage`, and `words`, the shares of the query's terms. Names
with a colon are parameters, or places of `schema.composer`. PostgreSQL inlines the functions,
so it evaluates one flat float8 expression per row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import singledispatch

from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.signals import (
    DECAY,
    Clock,
    Confidence,
    Curve,
    Decay,
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
_SPECIAL = "\\:."
"""A colon could be taken for the beginning of a parameter, and a dot for the end of our schema."""
_NEEDED: dict[type[Signal], str] = {
    Keyword: "words",
    Time: "period",
    EntityOverlap: "named",
}
"""Options without which a signal is 0."""
_SIMILARITY = "pgrecall.similarity(agent_memories.embedding, :query"
_SHIFTED = (
    "(SELECT shifted.query FROM shifted)",
    "(SELECT shifted.query FROM shifted WHERE shifted.agent_id = agent_memories.agent_id)",
)
"""The shifted vector of a query to one owner, and to several."""


def places(
    signals: Sequence[Signal], options: Collection[str], decay: Decay | None = None
) -> dict[str, str]:
    """The SQL that stands in a statement with these options: `score`, Σ weight · signal, with the
    weights as parameters `<signal>_weight`, and `signals`, the array of their values. A decay
    multiplies the score, and its factor is the last value.

    Signals that the query has no value for are left out of the score.
    """
    valued = [signal for signal in signals if has_value(signal, options)]
    written = looked_up if "naming" in options else value
    sql = {signal: written(signal) for signal in valued}
    its_factor = None if decay is None else factor(decay)
    values = [sql.get(signal, "0::float8") for signal in signals]
    if its_factor is not None:
        values.append(its_factor)
    ages = [*map(age, clocks(signals, decay).values())]
    accessed = "memory_usage.last_accessed_at"
    moment = "pg_catalog.now()"
    if "as_of" in options:
        moment = ":as_of::timestamptz"
        accessed = f"CASE WHEN {accessed} <= {moment} THEN {accessed} END"
    return {
        "score": _score(sql, its_factor, options),
        **(_of_lists(sql, its_factor, ages, options) if "listed" in options else {}),
        "ages": f"ARRAY[{', '.join(ages)}]::float8[]",
        "signals": f"ARRAY[{', '.join(values)}]",
        "moment": moment,
        "last_accessed_at": accessed,
        "shifted_similarity": shifted_similarity(_SHIFTED["teams" in options])
        if "shifted" in options
        else _SIMILARITY,
        "mean_share": number(max(map(shift_of, signals), default=0.0)),
        "subjects_named": boolean(counts_subjects(signals)),
        "counted_subject": "agent_memories.subject" if "subjects" in options else "NULL",
    }


def _score(values: Mapping[Signal, str], factor: str | None, options: Collection[str]) -> str:
    """Σ weight · signal, of signals whose values this SQL finds, times the factor of a decay."""
    terms = (f":{signal.name}_weight::float8 * {text}" for signal, text in values.items())
    score = "\n         + ".join(terms) or "0::float8"
    if "redistributes" in options:
        score = f"({score})\n         / (SELECT asked.weights_in_use FROM asked)"  # noqa: S608  ours
    return score if factor is None else decayed(score, factor)


def _of_lists(
    values: Mapping[Signal, str], factor: str | None, ages: Sequence[str], options: Collection[str]
) -> dict[str, str]:
    """The SQL of the lists of candidates: youth by each clock, each signal, and the decay. A memory
    without a clock is among the youngest: its recency is the same whatever the half-life."""
    young = {f"young_{place}": f"coalesce(-({one}), 0::float8)" for place, one in enumerate(ages)}
    columns = {signal: f"value_{place}" for place, signal in enumerate(values)}
    found = young | {columns[signal]: text for signal, text in values.items()}
    lists = [*young, *(columns[signal] for signal in values if is_listed(signal, options))]
    if factor is not None:
        found["factor"] = factor
        lists.append("factor")
    places = enumerate(lists, start=1)
    cut = "every.{1} > (SELECT cuts.listed[{0}] FROM cuts)"
    by_column = {signal: f"valued.{column}" for signal, column in columns.items()}
    return {
        "values": "\n     , ".join(f"{text} AS {column}" for column, text in found.items()),
        "score_of_values": _score(by_column, factor and "valued.factor", options),
        "peaks": f"ARRAY[{', '.join(f'pg_catalog.max(every.{one})' for one in lists)}]::float8[]",
        "listed": f"ARRAY[{', '.join(f'every.{one}' for one in lists)}]::float8[]",
        "above_cuts": "\n              OR ".join(cut.format(*one) for one in places) or "false",
    }


def is_listed(signal: Signal, options: Collection[str]) -> bool:
    """True if the query has something that the signal compares memories with, or it needs none."""
    if isinstance(signal, Similarity):
        return "query" in options
    return has_value(signal, options)


def clocks(signals: Iterable[Signal], decay: Decay | None) -> dict[str, Recency]:
    """The parts of a score that age decides, by their names."""
    found = {signal.name: signal for signal in signals if isinstance(signal, Recency)}
    return found if decay is None else found | {DECAY: decay.recency}


def age(signal: Recency) -> str:
    """The days since the signal's clock, at least 0; NULL without a clock."""
    clock = CLOCKS[signal.clock]
    return (
        f"CASE WHEN {clock} >= :moment THEN 0::float8 "
        f"ELSE pg_catalog.date_part('epoch', :moment - {clock}) / 86400::float8 END"
    )


def factor(decay: Decay, recency: str | None = None) -> str:
    """The factor of a decay, where `recency` may stand for the SQL of its recency."""
    recency = recency or value(decay.recency)
    if not decay.floor:
        return recency
    return f"({number(decay.floor)} + {number(1 - decay.floor)} * {recency})"


def decayed(score: str, factor: str) -> str:
    """The score after a decay by this factor."""
    return f"pgrecall.decayed({score}, {factor})"


def shift_of(signal: Signal) -> float:
    """The share of the owner's mean by which the signal shifts the query's vector."""
    return signal.shift if isinstance(signal, Similarity) else 0.0


def counts_subjects(signals: Iterable[Signal]) -> bool:
    """True if the subject of a memory is one of its entities."""
    return any(isinstance(signal, EntityOverlap) and signal.subject for signal in signals)


def shifted_similarity(query: str) -> str:
    """The beginning of a call that compares with this vector, which may be a subquery."""
    return f"pgrecall.similarity_to({query}, agent_memories.embedding"


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
    if signal.shift:
        return f":shifted_similarity, {missing})"
    return f"{_SIMILARITY}, {missing})"


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
    subject = "agent_memories.subject" if signal.subject else "NULL::text"
    given = ":query_entities::text[]"
    return f"pgrecall.entity_overlap(agent_memories.entities, {given}, {subject}, :names::integer)"


def looked_up(signal: Signal) -> str:
    """The SQL of a signal in a statement that looks up the entities itself, in `asked`.

    PostgreSQL inlines no function that reads a subquery several times, so the sum is written out.
    Most questions name one entity, and the tests for more cost each memory little then.
    """
    if not isinstance(signal, EntityOverlap):
        return value(signal)
    names, first, second, rest, every = (
        f"(SELECT asked.{one} FROM asked)"  # noqa: S608  ours
        for one in ("names", "entities[1]", "entities[2]", "entities[3:]", "entities[1:]")
    )
    memory, subject = "agent_memories.entities", ":counted_subject" if signal.subject else "NULL"
    has = f"coalesce(({{0}} = ANY ({memory}) OR {{0}} = {subject}::text)::integer, 0)"
    others = "(SELECT pg_catalog.sum({}) FROM unnest({}) further)"
    number = (
        f"CASE WHEN {second} IS NULL THEN {has.format(first)} "
        f"WHEN {memory} OPERATOR(pg_catalog.&&) {every} OR {subject}::text = ANY ({every}::text[]) "
        f"THEN {has.format(first)} + {has.format(second)} "
        f"+ CASE WHEN cardinality({rest}) > 0 "
        f"THEN {others.format(has.format('further'), rest)} ELSE 0 END ELSE 0 END"
    )
    return (
        f"CASE WHEN {names} > 0 THEN least(({number})::float8 / {names}::float8, 1::float8) "
        "ELSE 0::float8 END"
    )


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


@value.register
def _(signal: Attribute) -> str:
    path = ", ".join(quoted(step, _SPECIAL) for step in signal.path)
    numbers = ", ".join(map(number, (*signal.ends, signal.missing)))
    return f"pgrecall.attribute_value(agent_memories.metadata #> ARRAY[{path}]::text[], {numbers})"


def _per_row(signal: Recency, rest: float, converted: Callable[[float], float]) -> str:
    """One number for all rows, or a CASE if half-lives depend on the row's tier or types."""
    otherwise = number(rest)
    half_lives = signal.half_lives_by_tier or signal.half_lives_by_type
    if not half_lives:
        return otherwise
    labels = [quoted(label, _SPECIAL) for label, _ in half_lives]
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


def boolean(value: bool) -> str:
    """A truth value as an SQL literal."""
    return "true" if value else "false"


def quoted(text: str, special: str = "\\") -> str:
    """A text as an SQL literal, with escapes only if necessary."""
    doubled = text.replace("'", "''")
    if all(one.isprintable() and one not in special for one in text):
        return f"'{doubled}'"
    escaped = "".join(
        one if one.isprintable() and one not in special else f"\\U{ord(one):08x}" for one in doubled
    )
    return f"E'{escaped}'"
