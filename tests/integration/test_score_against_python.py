"""The database's scores against the pure-Python scorer, over random rows and profiles.

The two share no code but the profile. Vectors have small whole components: sums of their products
are exact in the single precision that pgvector computes in, so that similarity can be held to the
same 1e-9 as everything else. Vectors of arbitrary components have a looser test of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, create_engine, func, insert, select

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory, score
from pgrecall.dates import Period
from pgrecall.embedding import SMALLEST_NORM
from pgrecall.profile import SMALLEST_WEIGHT
from pgrecall.schema import tables
from pgrecall.schema.limits import SMALLEST_SHARE
from pgrecall.scored_memory import Breakdown
from pgrecall.signals import (
    LONGEST_HALF_LIFE,
    MAX_RATE,
    SHORTEST_HALF_LIFE,
    Clock,
    Confidence,
    Curve,
    Frequency,
    Importance,
    Recency,
    Signal,
    Similarity,
    Time,
    Trust,
    Usefulness,
)
from tests.conftest import DIMENSIONS, new_database

EXACT = 1e-9
SINGLE_PRECISION = 1e-6
ROUNDING = 1e-14
"""Scores closer than this may be ordered either way: the two sides add in different orders."""
MAX_ROWS = 12
MOST_RETRIEVALS = 2**31 - 1

property_test = settings(
    deadline=None,
    max_examples=100,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@dataclass(frozen=True)
class Usage:
    """A row of memory_usage."""

    retrieval_count: int
    accessed_days_ago: float | None


@dataclass(frozen=True)
class Trusted:
    """The columns of trust."""

    trust: float
    curve: str | None
    half_life_hours: float | None


@dataclass(frozen=True)
class Row:
    """A memory to be, its times as ages at the moment of the query."""

    embedding: tuple[float, ...] | None
    days_old: float | None
    usefulness: float
    confidence: float
    importance: float
    trusted: Trusted | None
    usage: Usage | None
    days_observed: float | None


@dataclass(frozen=True)
class Stored:
    id: UUID
    row: Row
    expected: Breakdown
    similarity: float | None


whole_vectors = st.lists(
    st.integers(-8, 8).map(float), min_size=DIMENSIONS, max_size=DIMENSIONS
).map(tuple)
directions = whole_vectors.filter(any)
arbitrary_directions = (
    st.lists(
        st.floats(-1e6, 1e6, width=32, allow_subnormal=False),
        min_size=DIMENSIONS,
        max_size=DIMENSIONS,
    )
    .map(tuple)
    .filter(lambda vector: math.hypot(*vector) > 1e3 * SMALLEST_NORM)
)
ages = st.one_of(
    st.floats(-10, 10_000),
    st.floats(-1e-3, 1e-3),
    st.sampled_from([-10.0, 0.0, 1e-6 / 86_400, 1.0, 14.0, 365.25, 10_000.0]),
)
shares = st.one_of(
    st.floats(1e-100, 1),
    st.sampled_from([0.0, 1.0, 1e-100, 0.1 + 0.2, 0.5, 1 - 2**-53]),
)
usages = st.builds(
    Usage,
    st.one_of(
        st.integers(0, 120),
        st.integers(0, MOST_RETRIEVALS),
        st.sampled_from([0, 1, 49, 50, 51, MOST_RETRIEVALS]),
    ),
    st.none() | ages,
)
trusts = st.builds(
    Trusted,
    shares,
    st.none() | st.sampled_from(list(Curve)).map(str),
    st.none() | st.floats(1e-3, 1e9) | st.sampled_from([1e-3, 168.0, 1e9]),
)


def rows_of(vectors: st.SearchStrategy[tuple[float, ...]]) -> st.SearchStrategy[list[Row]]:
    row = st.builds(
        Row,
        st.none() | vectors,
        st.none() | ages,
        shares,
        shares,
        shares,
        st.none() | trusts,
        st.none() | usages,
        st.none() | ages,
    )
    # A row, and how often it is there, each time with a text of its own: ties are the rule.
    repeated = st.lists(st.tuples(row, st.sampled_from([1, 1, 1, 2, 3])), min_size=1, max_size=8)
    return repeated.map(lambda found: [r for r, times in found for _ in range(times)][:MAX_ROWS])


rates = st.one_of(
    st.floats(1e-12, MAX_RATE), st.floats(1e-3, 1), st.sampled_from([0.0, 1e-12, 0.05, MAX_RATE])
)
half_lives = st.one_of(
    st.floats(SHORTEST_HALF_LIFE, LONGEST_HALF_LIFE),
    st.floats(1, 100),
    st.sampled_from([SHORTEST_HALF_LIFE, 14.0, LONGEST_HALF_LIFE]),
)
parameters = st.sampled_from([0.0, SMALLEST_SHARE, 0.5, 1.0]) | st.floats(SMALLEST_SHARE, 1)
clocks = st.sampled_from(Clock)
recencies = st.builds(Recency, rate=rates, clock=clocks, unknown=parameters) | st.builds(
    Recency,
    half_life=half_lives,
    curve=st.sampled_from(Curve),
    clock=clocks,
    unknown=parameters,
)
signals = st.tuples(
    st.builds(Similarity, missing=parameters),
    recencies,
    st.just(Usefulness()),
    st.just(Importance()),
    st.just(Confidence()),
    st.builds(Trust, decay=st.booleans(), missing=parameters),
    st.builds(Frequency, cap=st.sampled_from([1.0, 50.0, 1e9]) | st.floats(1, 1e9)),
    st.builds(Time, unknown=parameters),
)
periods = st.tuples(
    st.floats(-100, 10_000) | st.sampled_from([0.0, 14.0, 365.25]),
    st.sampled_from([1e-6, 3_600.0, 86_400.0, 7 * 86_400.0, 31_536_000.0]) | st.floats(1, 1e9),
)
"""How many days ago one begins, and how many seconds it lasts."""


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Any signals in any order, under weights random or extreme."""
    chosen: Sequence[Signal] = draw(st.permutations(draw(signals)))
    chosen = chosen[: draw(st.integers(1, len(chosen)))]
    return Profile("random", dict(zip(chosen, draw(weights(len(chosen))), strict=True)))


@st.composite
def weights(draw: st.DrawFn, count: int) -> list[float]:
    if count == 1:
        return [1.0]
    kind = draw(st.sampled_from(["random", "one alone", "almost one alone", "many tiny"]))
    if kind == "random":
        parts = draw(st.lists(st.floats(1e-6, 1), min_size=count, max_size=count))
        return [part / math.fsum(parts) for part in parts]
    tiny = {"one alone": 0, "almost one alone": 1, "many tiny": count - 1}[kind]
    small = [SMALLEST_WEIGHT] * tiny + [0.0] * (count - 1 - tiny)
    return list(draw(st.permutations([1 - math.fsum(small), *small])))


@pytest.fixture(scope="module")
def shared_engine(server_url: str, template: str) -> Iterator[Engine]:
    """One database for all examples; each runs in a transaction that is rolled back."""
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        yield engine
        engine.dispose()


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Cosine similarity in double precision over components as pgvector stores them."""
    x, y = (np.array(v, dtype=np.float32).astype(np.float64) for v in (a, b))
    return float(np.dot(x, y) / math.sqrt(float(np.dot(x, x)) * float(np.dot(y, y))))


def ago(moment: datetime, days: float | None) -> datetime | None:
    return None if days is None else moment - timedelta(days=days)


def store(
    connection: Connection,
    agent_id: str,
    rows: Sequence[Row],
    profile: Profile,
    query: Sequence[float],
    moment: datetime,
    *,
    is_given: bool = False,
    period: Period | None = None,
) -> list[Stored]:
    """Puts the rows into the database and works out what they should score."""
    ids = MemoryRepository(connection).add_many(
        agent_id,
        [
            NewMemory(
                f"memory {n}",
                embedding=row.embedding,
                created_at=ago(moment, row.days_old),
                observed_at=ago(moment, row.days_observed),
                usefulness=row.usefulness,
                confidence=row.confidence,
                importance=row.importance,
                **trust_columns(row),
            )
            for n, row in enumerate(rows)
        ],
    )
    used = [
        {
            "agent_id": agent_id,
            "memory_id": id_,
            "retrieval_count": row.usage.retrieval_count,
            "last_accessed_at": ago(moment, row.usage.accessed_days_ago),
        }
        for id_, row in zip(ids, rows, strict=True)
        if row.usage is not None
    ]
    if used:
        connection.execute(insert(tables().memory_usage), used)
    stored = []
    for id_, row in zip(ids, rows, strict=True):
        similarity = None if row.embedding is None else cosine(row.embedding, query)
        known = values(row, similarity, moment, is_given=is_given)
        expected = score(profile, {**known, "query_time": period}, as_of=moment)
        stored.append(Stored(id_, row, expected, similarity))
    return stored


def trust_columns(row: Row) -> dict[str, Any]:
    if row.trusted is None:
        return {"trust": None, "trust_curve": None, "trust_half_life_hours": None}
    return {
        "trust": row.trusted.trust,
        "trust_curve": row.trusted.curve,
        "trust_half_life_hours": row.trusted.half_life_hours,
    }


def values(
    row: Row, similarity: float | None, moment: datetime, *, is_given: bool
) -> Mapping[str, Any]:
    """What is known at a moment that a search is given, or by default now."""
    found: dict[str, Any] = {
        "similarity": similarity,
        "created_at": ago(moment, row.days_old),
        "observed_at": ago(moment, row.days_observed),
        "usefulness": row.usefulness,
        "confidence": row.confidence,
        "importance": row.importance,
        **trust_columns(row),
    }
    if row.usage is not None:
        found["retrieval_count"] = row.usage.retrieval_count
        accessed = ago(moment, row.usage.accessed_days_ago)
        if not is_given and accessed is not None:
            accessed = min(accessed, moment)  # one dated ahead is of age 0, but seen
        found["last_accessed_at"] = accessed
    return found


def assert_same_ranking(hits: Sequence[ScoredMemory], visible: Sequence[Stored], k: int) -> None:
    """The k best of these, in order, each with the score and signals Python gives it."""
    by_id = {stored.id: stored for stored in visible}
    found = [by_id[hit.memory.id] for hit in hits]
    assert len({stored.id for stored in found}) == min(k, len(visible))

    for hit, stored in zip(hits, found, strict=True):
        assert 0 <= hit.score <= 1 + EXACT
        assert hit.score == pytest.approx(stored.expected.score, rel=0, abs=EXACT)
        assert hit.signals == pytest.approx(stored.expected.signals, rel=0, abs=EXACT)
        assert hit.contributions == pytest.approx(stored.expected.contributions, rel=0, abs=EXACT)
        if stored.similarity is None:
            assert hit.similarity is None
        else:
            assert hit.similarity == pytest.approx(max(stored.similarity, 0), rel=0, abs=EXACT)

    wanted = sorted(visible, key=lambda stored: (-stored.expected.score, stored.id))
    for stored, best in zip(found, wanted, strict=False):
        if stored is not best:  # only scores that differ by rounding alone may change places
            assert stored.expected.score == pytest.approx(best.expected.score, rel=0, abs=ROUNDING)
    for (hit, stored), (next_hit, next_stored) in zip(
        pairs := list(zip(hits, found, strict=True)), pairs[1:], strict=False
    ):
        assert hit.score >= next_hit.score
        if stored.row == next_stored.row:
            assert hit.score == next_hit.score
        if hit.score == next_hit.score:
            assert stored.id < next_stored.id


@property_test
@given(
    rows=rows_of(directions),
    profile=profiles(),
    query=directions,
    days=st.none() | st.floats(-20_000, 20_000),
    named=st.none() | periods,
    k=st.integers(1, MAX_ROWS + 1),
)
def test_the_database_ranks_as_python_does(
    shared_engine: Engine,
    rows: list[Row],
    profile: Profile,
    query: tuple[float, ...],
    days: float | None,
    named: tuple[float, float] | None,
    k: int,
) -> None:
    with shared_engine.connect() as connection:
        agent_id = str(uuid4())
        now = connection.execute(select(func.now())).scalar_one()
        as_of = None if days is None else now + timedelta(days=days)
        period = None
        if named is not None:
            begins = (as_of or now) - timedelta(days=named[0])
            period = begins, begins + timedelta(seconds=named[1])
        stored = store(
            connection,
            agent_id,
            rows,
            profile,
            query,
            as_of or now,
            is_given=as_of is not None,
            period=period,
        )
        visible = [
            one
            for one in stored
            # Compared as what was stored: an age below a microsecond is none.
            if as_of is None or (ago(as_of, one.row.days_old) or as_of) <= as_of
        ]
        event(f"{'default' if as_of is None else 'given'} as_of, {len(visible)} visible")

        hits = MemoryRepository(connection).search(
            agent_id,
            query,
            k=k,
            profile=profile,
            as_of=as_of,
            query_time=period,
            touch=False,
        )

        assert_same_ranking(hits, visible, k)


@property_test
@given(
    rows=rows_of(directions),
    query=directions,
    shares=weights(5),
    as_of=st.datetimes(datetime(1700, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_weights_of_one_query_count_as_those_of_a_profile(
    shared_engine: Engine,
    rows: list[Row],
    query: tuple[float, ...],
    shares: list[float],
    as_of: datetime,
) -> None:
    names = ("similarity", "recency", "usefulness", "confidence", "frequency")
    chosen = dict(zip(names, shares, strict=True))
    profile = Profile(
        "oracle",
        dict(
            zip(
                (Similarity(), Recency(rate=0.05), Usefulness(), Confidence(), Frequency()),
                shares,
                strict=True,
            )
        ),
    )
    with shared_engine.connect() as connection:
        agent_id = str(uuid4())
        stored = store(connection, agent_id, rows, profile, query, as_of, is_given=True)
        visible = [one for one in stored if (ago(as_of, one.row.days_old) or as_of) <= as_of]

        hits = MemoryRepository(connection).search(
            *(agent_id, query),
            k=MAX_ROWS,
            profile="five_factor",
            weights=chosen,
            as_of=as_of,
            touch=False,
        )

        assert_same_ranking(hits, visible, MAX_ROWS)


@property_test
@given(rows=rows_of(arbitrary_directions), profile=profiles(), query=arbitrary_directions)
def test_vectors_of_any_components_agree_to_single_precision(
    shared_engine: Engine, rows: list[Row], profile: Profile, query: tuple[float, ...]
) -> None:
    with shared_engine.connect() as connection:
        agent_id = str(uuid4())
        now = connection.execute(select(func.now())).scalar_one()
        stored = {one.id: one for one in store(connection, agent_id, rows, profile, query, now)}

        hits = MemoryRepository(connection).search(
            agent_id, query, k=MAX_ROWS, profile=profile, touch=False
        )

        assert {hit.memory.id for hit in hits} == stored.keys()
        for hit in hits:
            one = stored[hit.memory.id]
            if one.similarity is None:
                assert hit.similarity is None
            else:
                assert hit.similarity == pytest.approx(
                    max(one.similarity, 0), rel=0, abs=SINGLE_PRECISION
                )
            # Given the database's own similarity, the rest agrees exactly.
            known = values(one.row, hit.similarity, now, is_given=False)
            again = score(profile, known, as_of=now)
            assert hit.score == pytest.approx(again.score, rel=0, abs=EXACT)
            assert hit.signals == pytest.approx(again.signals, rel=0, abs=EXACT)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
