"""A profile as one SQLAlchemy expression over the columns of `matched` (sql/matched.sql).

PostgreSQL inlines the functions (sql/signals), so it evaluates one flat float8 expression per row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any, Final, NamedTuple, Protocol

from sqlalchemy import (
    Alias,
    ColumnElement,
    Double,
    False_,
    Subquery,
    Text,
    True_,
    all_,
    any_,
    bindparam,
    case,
    func,
    literal_column,
    not_,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import InternalTraversal

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import (
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


class Matched(Protocol):
    """The relation `matched`: its columns."""

    @property
    def c(self) -> Any: ...


class Asked(NamedTuple):
    """What a subquery of `matched` was asked for."""

    schema: str
    profile: Profile


ASKED: Final = "pgrecall_asked"
"""The attribute of a subquery that has it."""


def _asked(m: Any) -> Asked | None:
    """Also of an alias of the subquery."""
    if not isinstance(m, Alias | Subquery):
        return None
    found: Asked | None = vars(m).get(ASKED)
    return _asked(m.element) if found is None else found


Weight = Callable[[Signal, float], ColumnElement[float]]
Once = Callable[[ColumnElement[float]], ColumnElement[float]]


def bound_weight(signal: Signal, value: float) -> ColumnElement[float]:
    """A weight as a parameter, so that one text serves all weights."""
    return bindparam(f"{signal.name}_weight", value, Double, unique=True)


def literal_weight(signal: Signal, value: float) -> ColumnElement[float]:
    """A weight as a constant, for functions of the database."""
    return number(value)


NEEDS: Final[Mapping[type[Signal], str]] = {
    Similarity: "has_query",
    Keyword: "has_terms",
    EntityOverlap: "has_names",
    Time: "has_period",
}
"""The column that is true if the query has something for this signal."""


def score_expression(
    profile: Profile,
    m: Matched,
    *,
    weight: Weight = bound_weight,
    once: Once = lambda divisor: divisor,
) -> ColumnElement[float]:
    """The score: Σ weight · signal, times the factor of the decay if the profile has one.

    If the profile redistributes, the sum is divided by the weights in use. These do not depend on
    the memory, so `once` may make them a subquery, which is computed once.
    """
    weighed = [(signal, weight(signal, value)) for signal, value in profile]
    return score_of(weighed, m, redistribute=profile.redistribute, decay=profile.decay, once=once)


def agreeing(profile: Profile, m: Matched) -> Profile:
    """The profile, if its signals mean what the columns of `m` hold; else raises InvalidProfile."""
    asked = _asked(m)
    if asked is None:
        return profile
    by, similarity, overlap = asked.profile, profile.find(Similarity), profile.find(EntityOverlap)
    if similarity is not None and similarity.shift:
        its = by.find(Similarity)
        if its is None or its.shift != similarity.shift:
            raise InvalidProfile(
                f"profile {shortened(profile.name)} centers similarity by {similarity.shift:g}, "
                f"which these memories were not asked for: pass it to matched"
            )
    if overlap is not None:
        other = by.find(EntityOverlap)
        if other is None or other.subject != overlap.subject:
            raise InvalidProfile(
                f"profile {shortened(profile.name)} compares names, which these memories were not "
                f"asked for: pass it to matched"
            )
    return profile


def score_of(
    weighed: Sequence[tuple[Signal, ColumnElement[float]]],
    m: Matched,
    *,
    redistribute: bool = False,
    decay: Decay | None = None,
    once: Once = lambda divisor: divisor,
) -> ColumnElement[float]:
    """The score by signals with these weights; see score_expression."""
    valued = [(signal, weight) for signal, weight in weighed if has_value(signal, m)]
    total: ColumnElement[float] = sum_of(its * signal_expression(one, m) for one, its in valued)
    if redistribute:
        total = total.op("/", precedence=8, return_type=Double())(once(weights_in_use(weighed, m)))
    return total if decay is None else call(m, "decayed", total, factor(decay, m))


def has_value(signal: Signal, m: Matched) -> bool:
    """False if it is known that the query has nothing for this signal, so that it is 0."""
    return isinstance(signal, Similarity) or not isinstance(_need(signal, m), False_)


def is_known(signal: Signal, m: Matched) -> bool:
    """True if it is known, before any row is read, whether the query has something for it."""
    return isinstance(_need(signal, m), True_ | False_ | None)


def factor(decay: Decay, m: Matched) -> ColumnElement[float]:
    """The factor of a decay."""
    recency = signal_expression(decay.recency, m)
    if not decay.floor:
        return recency
    return _float8(decay.floor) + _float8(1 - decay.floor) * recency


def _need(signal: Signal, m: Matched) -> Any:
    name = NEEDS.get(type(signal))
    return None if name is None else m.c[name]


def weights_in_use(
    weighed: Iterable[tuple[Signal, ColumnElement[float]]], m: Matched
) -> ColumnElement[float]:
    """The sum of the weights of signals for which the query has something; 1 if it has none."""
    others: list[ColumnElement[float]] = []
    for signal, weight in weighed:
        need = _need(signal, m)
        if isinstance(need, False_):
            others.append(weight)
        elif not (need is None or isinstance(need, True_)):
            others.append(case((need, number(0)), else_=weight))
    used = _float8(1)
    for unused in others:
        used = used - unused
    return case((sum_of(others) < _float8(1 - 1e-9), used), else_=_float8(1))


def sum_of(parts: Iterable[ColumnElement[float]]) -> ColumnElement[float]:
    """Their sum, 0 of none."""
    total: ColumnElement[float] | None = None
    for one in parts:
        total = one if total is None else total + one
    return _float8(0) if total is None else total


def shift_of(signals: Iterable[Signal]) -> float:
    """The share of the agent's mean by which the query's vector is shifted."""
    return max((one.shift for one in signals if isinstance(one, Similarity)), default=0.0)


def counts_subjects(signals: Iterable[Signal]) -> bool:
    """True if the subject of a memory is one of its entities."""
    return any(isinstance(one, EntityOverlap) and one.subject for one in signals)


@singledispatch
def signal_expression(signal: Signal, m: Matched) -> ColumnElement[float]:
    """One signal, in [0, 1] and never NULL."""
    raise NotImplementedError(f"signal {type(signal).__name__} has no SQL")


@signal_expression.register
def _(signal: Similarity, m: Matched) -> ColumnElement[float]:
    column = m.c.centered_similarity if signal.shift else m.c.similarity
    return func.coalesce(column, number(signal.missing))


@signal_expression.register
def _(signal: Keyword, m: Matched) -> ColumnElement[float]:
    size = func.octet_length(m.c.content)
    return call(m, "keyword", m.c.word_share, size, number(signal.b), number(signal.pivot))


@signal_expression.register
def _(signal: EntityOverlap, m: Matched) -> ColumnElement[float]:
    overlap: ColumnElement[float] = m.c.entity_overlap
    return overlap


@signal_expression.register
def _(signal: Time, m: Matched) -> ColumnElement[float]:
    return func.coalesce(m.c.nearness, number(signal.unknown))


@signal_expression.register
def _(signal: Usefulness | Importance | Confidence, m: Matched) -> ColumnElement[float]:
    column: ColumnElement[float] = m.c[signal.name]
    return column


@signal_expression.register
def _(signal: Frequency, m: Matched) -> ColumnElement[float]:
    return call(m, "frequency", m.c.retrieval_count, number(signal.cap))


@signal_expression.register
def _(signal: Trust, m: Matched) -> ColumnElement[float]:
    missing = number(signal.missing)
    if not signal.decay:
        return func.coalesce(m.c.trust, missing)
    stored = m.c.trust_curve, m.c.trust_half_life_hours
    return call(m, "decayed_trust", m.c.trust, m.c.last_accessed_at, m.c.moment, *stored, missing)


@signal_expression.register
def _(signal: Recency, m: Matched) -> ColumnElement[float]:
    clock, speed = _clock(signal, m), speed_of(signal, m)
    return call(m, f"recency_{signal.curve}", clock, m.c.moment, speed, number(signal.unknown))


@signal_expression.register
def _(signal: Attribute, m: Matched) -> ColumnElement[float]:
    found = m.c.metadata.op("#>")(literal_column(f"ARRAY[{_texts(signal.path)}]"))
    return call(m, "attribute_value", found, *map(number, (*signal.ends, signal.missing)))


def _clock(signal: Recency, m: Matched) -> ColumnElement[Any]:
    created, accessed = m.c.created_at, m.c.last_accessed_at
    match signal.clock:
        case Clock.CREATED_AT:
            clock: ColumnElement[Any] = created
        case Clock.LAST_ACCESSED_AT:
            clock = func.coalesce(accessed, created)
        case Clock.LATEST:  # GREATEST ignores NULL
            clock = func.greatest(accessed, created)
    return clock


def age(signal: Recency, m: Matched) -> ColumnElement[float]:
    """The days since the signal's clock, at least 0; NULL without a clock."""
    clock, moment = _clock(signal, m), m.c.moment
    seconds = func.pg_catalog.date_part(literal_column("'epoch'"), moment - clock)
    return case((clock >= moment, _float8(0)), else_=seconds / _float8(86400))


def speed_of(signal: Recency, m: Matched) -> ColumnElement[float]:
    """What a decay takes: its rate if it is exponential, or else its half-life."""
    if signal.curve is Curve.EXPONENTIAL:
        return _of_row(signal, m, signal.rate_per_day, rate_of)
    assert signal.half_life is not None
    return _of_row(signal, m, signal.half_life, float)


def _of_row(
    signal: Recency, m: Matched, rest: float, converted: Callable[[float], float]
) -> ColumnElement[float]:
    """One number for all rows, or a CASE if half-lives depend on the row's tier or types."""
    half_lives = signal.half_lives_by_tier or signal.half_lives_by_type
    if not half_lives:
        return number(rest)
    column = m.c.tier if signal.half_lives_by_tier else m.c.memory_type
    arms = []
    for name, days in half_lives:
        is_named = column == text_literal(name)
        if signal.half_lives_by_type:
            is_named = is_named | (text_literal(name) == any_(m.c.additional_types))
        arms.append((is_named, _float8(converted(days))))
    if signal.half_lives_by_type:
        # Half-lives are sorted, so the first arm that matches is the shortest one that applies.
        assert signal.half_life is not None
        shorter = sum(days <= signal.half_life for _, days in half_lives)
        every: ColumnElement[Any] = literal_column(
            f"ARRAY[{_texts(name for name, _ in half_lives)}]"
        )
        has_others = (column != all_(every)) | not_(m.c.additional_types.op("<@")(every))
        arms.insert(shorter, (has_others, _float8(rest)))
    return case(*arms, else_=_float8(rest))


class _Call(FunctionElement[Any]):
    """A call of a function in our schema."""

    inherit_cache = True
    _traverse_internals = [  # noqa: RUF012  as SQLAlchemy has it
        *FunctionElement._traverse_internals,
        ("schema", InternalTraversal.dp_string),
        ("name", InternalTraversal.dp_string),
    ]

    def __init__(self, schema: str, name: str, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.schema, self.name = schema, name
        self.type = Double()


@compiles(_Call)
def _(element: _Call, compiler: Any, **options: Any) -> str:
    schema = compiler.preparer.quote_schema(element.schema)
    arguments = compiler.process(element.clause_expr, **options)
    return f"{schema}.{element.name}{arguments}"


def call(m: Matched, name: str, *arguments: Any) -> ColumnElement[float]:
    """A call of the SQL function of this name, in the schema of the relation."""
    asked = _asked(m)
    schema = getattr(m, "schema", None) if asked is None else asked.schema
    return _Call(schema or "pgrecall", name, *arguments)


def number(value: float) -> ColumnElement[float]:
    """A constant with all digits, so that SQL uses exactly the same float8."""
    return literal_column(f"{float(value)!r}", Double)


def _float8(value: float) -> ColumnElement[float]:
    """The same where PostgreSQL would otherwise compute with numeric, row by row."""
    return literal_column(f"{float(value)!r}::float8", Double)


_SPECIAL = "\\:.@"
"""A colon could be taken for the beginning of a parameter, a dot for the end of our schema, and @
for a place in a file."""


def text_literal(value: str) -> ColumnElement[str]:
    """A text as a constant."""
    return literal_column(quoted(value, _SPECIAL), Text)


def _texts(values: Iterable[str]) -> str:
    return ", ".join(quoted(one, _SPECIAL) for one in values)


def quoted(text: str, special: str = "\\") -> str:
    """A text as an SQL literal, with escapes only if necessary."""
    doubled = text.replace("'", "''")
    if all(one.isprintable() and one not in special for one in text):
        return f"'{doubled}'"
    escaped = "".join(
        one if one.isprintable() and one not in special else f"\\U{ord(one):08x}" for one in doubled
    )
    return f"E'{escaped}'"
