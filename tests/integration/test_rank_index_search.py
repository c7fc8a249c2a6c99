"""Searches through rank indexes against exact ones."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from statistics import fmean
from typing import Any, ClassVar
from uuid import NAMESPACE_OID, UUID, uuid5

import numpy as np
import pytest
from sqlalchemy import Engine, NullPool, create_engine

from pgrecall import (
    Hits,
    MemoryRepository,
    NewMemory,
    Profile,
    ScoredMemory,
    compiler,
    profiles,
    score,
)
from pgrecall.errors import DatabaseError, InputError
from pgrecall.hits import Strategy
from pgrecall.rank_space import AXES, Missing
from pgrecall.signals import Importance, Recency, Signal, Similarity
from tests.conftest import DIMENSIONS, new_database
from tests.integration.support import NORTH, at, contents, similar, sql

MOMENT = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
"""The newest that the memories know of, and so the moment of their indexes."""
SOON = MOMENT + timedelta(hours=1)
BIG, MANY = "big", 2_000
SMALL = 400
FORGOTTEN = 20
TIERS = ("short", "medium", "long")
CURVES = (None, "exponential", "linear", "hyperbolic")
HALF_LIFE_HOURS = (None, 24.0, 168.0, 2_000.0)
QUERIES = [vector.tolist() for vector in np.random.default_rng(7).normal(size=(8, DIMENSIONS))]
QUERY: list[float] = QUERIES[0]
HALF_PRECISION, SMALLEST_HALF = 2**-10, 1e-7


@dataclass(frozen=True)
class Usage:
    retrievals: int
    accessed: datetime


@dataclass(frozen=True)
class World:
    """A database with memories of several owners, some of them indexed."""

    engine: Engine
    memories: Mapping[UUID, NewMemory]
    """Of BIG."""
    usage: Mapping[UUID, Usage]


def ago(days: float) -> datetime:
    return MOMENT - timedelta(days=days)


def memory(owner: str, number: int, rng: np.random.Generator) -> NewMemory:
    """One of many in which every signal varies, and what may be missing sometimes is."""
    created: datetime | None = ago(float(rng.exponential(30)))
    if number == 0:
        created = MOMENT
    elif number % 20 == 7:
        created = None
    unembedded = number % 30 == 11
    return NewMemory(
        f"{owner} {number}",
        id=uuid5(NAMESPACE_OID, f"{owner} {number}"),
        embedding=None if unembedded else rng.normal(size=DIMENSIONS).tolist(),
        usefulness=rng.uniform(0.2, 0.6),
        importance=rng.uniform(0, 0.9),
        confidence=rng.uniform(0, 1),
        trust=None if number % 5 == 2 else rng.uniform(0.1, 0.7),
        trust_curve=CURVES[number % 4],
        trust_half_life_hours=HALF_LIFE_HOURS[number // 4 % 4],
        tier=TIERS[number % 3],
        created_at=created,
        expires_at=None,
    )


def memories_of(owner: str, count: int) -> list[NewMemory]:
    rng = np.random.default_rng(list(owner.encode()))
    return [memory(owner, number, rng) for number in range(count)]


def use(engine: Engine, owner: str, stored: Sequence[NewMemory]) -> dict[UUID, Usage]:
    """Counts retrievals of every third memory, none of them after MOMENT."""
    rng = np.random.default_rng(5)
    used = {}
    for one in stored[::3]:
        created = one.created_at if isinstance(one.created_at, datetime) else ago(50)
        accessed = created + rng.uniform() * (MOMENT - created)
        assert one.id is not None
        used[one.id] = Usage(int(rng.integers(1, 80)), accessed)
    rows = [
        {"memory_id": str(id_), "retrieval_count": one.retrievals, "at": one.accessed.isoformat()}
        for id_, one in used.items()
    ]
    sql(
        engine,
        "INSERT INTO pgrecall.memory_usage "
        "(agent_id, memory_id, retrieval_count, last_accessed_at) "
        "SELECT :owner, memory_id, retrieval_count, at "
        "FROM jsonb_to_recordset(CAST(:rows AS jsonb)) "
        "AS r(memory_id uuid, retrieval_count int, at timestamptz)",
        owner=owner,
        rows=json.dumps(rows),
    )
    return used


def forget(engine: Engine, ids: Sequence[UUID]) -> None:
    """Long before MOMENT, so that no index has them."""
    sql(
        engine,
        "UPDATE pgrecall.agent_memories SET invalidated_at = :then, "
        "invalidation_reason = 'forgotten' WHERE agent_id = :big AND id = ANY (:ids)",
        then=ago(1_000),
        big=BIG,
        ids=list(ids),
    )


@pytest.fixture(scope="module")
def world(server_url: str, template: str) -> Iterator[World]:
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        stored = memories_of(BIG, MANY)
        ids = repo.add_many(BIG, stored)
        used = use(engine, BIG, stored)
        forget(engine, ids[-FORGOTTEN:])
        repo.build_rank_indexes(agent_id=BIG, at_least=1)
        for owner in ("indexed", "plain"):
            for among in (repo, repo.teams):
                among.add_many(owner, memories_of(f"{owner} {among is repo}", SMALL))
        for among in (repo, repo.teams):
            among.build_rank_indexes(agent_id="indexed", at_least=1)
        repo.teams.add_many("indexed too", memories_of("indexed too", SMALL))
        repo.teams.build_rank_indexes(agent_id="indexed too", at_least=1)
        held = dict(zip(map(_plain, ids[:-FORGOTTEN]), stored, strict=False))
        yield World(engine, held, used)
        engine.dispose()


@pytest.fixture
def whole(world: World) -> MemoryRepository:
    """For tests that change nothing."""
    return MemoryRepository(world.engine)


@pytest.fixture
def undone(world: World) -> Iterator[MemoryRepository]:
    """In a transaction that is rolled back."""
    with world.engine.connect() as connection:
        yield MemoryRepository(connection)
        connection.rollback()


@pytest.fixture
def own(world: World, agent: str) -> Iterator[MemoryRepository]:
    """For tests that index an agent of their own."""
    repo = MemoryRepository(world.engine)
    yield repo
    repo.clear(agent)
    repo.drop_rank_index(agent)


def indexed(repo: MemoryRepository, agent: str, stored: Sequence[NewMemory]) -> list[UUID]:
    ids = repo.add_many(agent, stored)
    repo.build_rank_indexes(agent_id=agent, at_least=1)
    return list(map(_plain, ids))


def _plain(id_: UUID) -> UUID:
    return UUID(int=id_.int)


def both(
    repo: MemoryRepository, agent: str = BIG, query: Any = QUERY, **asked: Any
) -> tuple[Hits, Hits]:
    """The answer of the index and the exact one, without counting."""
    asked = dict[str, Any](touch=False, strategy="index") | asked
    return (
        repo.search(agent, query, **asked),
        repo.search(agent, query, **(asked | {"strategy": "exact"})),
    )


def recall(found: Hits, exact: Hits) -> float:
    """The share found of the exact answer, after making sure that the rest is as it has to be.

    As many hits, in order, and each that both have told the same in every field.
    """
    assert exact.strategy == "exact"
    assert len(found) == len(exact)
    assert all((-a.score, a.memory.id) < (-b.score, b.memory.id) for a, b in pairwise(found))
    known = {hit.memory.id: hit for hit in exact}
    same = [hit for hit in found if hit.memory.id in known]
    assert all(hit == known[hit.memory.id] for hit in same)
    assert all(hit.score <= best.score for hit, best in zip(found, exact, strict=True))
    return len(same) / len(exact) if exact else 1.0


def ids_of(hits: Collection[ScoredMemory]) -> list[UUID]:
    return [hit.memory.id for hit in hits]


def mean_recall(
    repo: MemoryRepository, agent: str = BIG, queries: Sequence[Any] = QUERIES, **asked: Any
) -> float:
    """Over all queries, each of which the index has to answer."""
    shares = []
    for query in queries:
        found, exact = both(repo, agent, query, **asked)
        assert found.strategy == "index"
        shares.append(recall(found, exact))
    return fmean(shares)


@pytest.mark.parametrize("days", [0, 25])
@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_every_built_in_profile_finds_the_exact_answer(
    whole: MemoryRepository, name: str, days: float
) -> None:
    as_of = MOMENT + timedelta(days=days)

    assert mean_recall(whole, profile=name, as_of=as_of, strategy="auto") >= 0.98


@pytest.mark.parametrize(
    ("name", "leading"),
    [(name, signal) for name, profile in profiles.BUILT_IN.items() for signal in profile.weights],
)
def test_weights_that_lean_on_one_signal_find_the_exact_answer(
    whole: MemoryRepository, name: str, leading: str
) -> None:
    rest = [signal for signal in profiles.named(name).weights if signal != leading]
    weights = {leading: 0.7} | dict.fromkeys(rest, 0.3 / len(rest))

    found = mean_recall(
        whole, profile=name, weights=weights, normalise_weights=True, as_of=SOON, strategy="auto"
    )

    assert found >= 0.97


@pytest.mark.parametrize(
    ("name", "half_life"),
    [
        *product(["five_factor", "last_access", "half_life", "tiered"], [1, 180]),
        *product(["five_factor"], [2.5, 14, 100]),
    ],
)
def test_any_half_life_that_is_covered_finds_the_exact_answer(
    whole: MemoryRepository, name: str, half_life: float
) -> None:
    profile = profiles.named(name).with_half_life(half_life)

    assert mean_recall(whole, profile=profile, as_of=SOON, strategy="auto") >= 0.98


@pytest.mark.parametrize("half_life", [1e-9, 0.5, 200, 1e9])
def test_auto_ranks_exactly_where_the_half_life_is_not_covered_and_index_does_as_it_is_told(
    whole: MemoryRepository, half_life: float
) -> None:
    profile = profiles.five_factor.with_half_life(half_life)

    assert both(whole, profile=profile, strategy="auto")[0].strategy == "exact"
    assert mean_recall(whole, profile=profile, as_of=SOON) >= 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Novelty(Signal):
    """A signal that no index was built for."""

    name: ClassVar[str] = "novelty"


@dataclass(frozen=True, slots=True, kw_only=True)
class Urgency(Importance):
    """One that only looks like a signal that indexes hold."""

    name: ClassVar[str] = "urgency"


@compiler.value.register(Novelty)
@compiler.value.register(Urgency)
def _written(signal: Signal, scope: compiler.Scope) -> compiler.Expression:
    return 1.0 - scope.memories.c.importance


@pytest.mark.parametrize("signal", [Novelty(), Urgency()], ids=["new class", "subclass"])
def test_auto_ranks_exactly_by_a_signal_that_the_index_does_not_know(
    whole: MemoryRepository, signal: Signal
) -> None:
    unknown = Profile("unknown", {signal: 0.9, Similarity(): 0.1})
    known = Profile("known", {Importance(): 0.9, Similarity(): 0.1})

    def strategy(profile: Profile, strategy: Strategy = "auto") -> str:
        return whole.search(BIG, QUERY, profile=profile, strategy=strategy, touch=False).strategy

    assert strategy(unknown) == "exact"
    assert strategy(known) == "index"
    assert strategy(unknown, "index") == "index"


def test_similarity_alone_finds_the_nearest(whole: MemoryRepository) -> None:
    assert mean_recall(whole, weights={"similarity": 1.0}, as_of=SOON) >= 0.97


def test_the_direction_of_the_query_counts_and_not_its_length(whole: MemoryRepository) -> None:
    lengths = [both(whole, query=[x * f for x in QUERY], as_of=SOON)[0] for f in (1, 1e-4, 1e6)]

    assert ids_of(lengths[0]) == ids_of(lengths[1]) == ids_of(lengths[2])


def test_the_positions_are_the_coordinates_that_python_computes(
    world: World, whole: MemoryRepository
) -> None:
    [status] = whole.rank_indexes(agent_id=BIG)
    assert status.index is not None
    assert status.index.as_of == MOMENT
    rows = sql(
        world.engine,
        f"SELECT memory_id, CAST(position AS real[]) FROM pgrecall.{status.index.relation}",
    )
    found: dict[UUID, list[float]] = dict(rows)
    assert found.keys() == world.memories.keys()
    signals = {
        id_: [_coordinate(one, world.usage.get(id_), axis) for axis in AXES]
        for id_, one in world.memories.items()
    }
    longest = max(math.fsum(x * x for x in here) for here in signals.values())

    for id_, one in world.memories.items():
        evened = 0.5 * math.sqrt(longest - math.fsum(x * x for x in signals[id_]))
        expected = [*_unit(one.embedding), *signals[id_], evened]
        assert found[id_] == pytest.approx(expected, rel=HALF_PRECISION, abs=SMALLEST_HALF)


def _coordinate(one: NewMemory, usage: Usage | None, axis: Any) -> float:
    if isinstance(axis.what, Missing):
        return axis.scale if getattr(one, axis.what) is None else 0.0
    values = {
        "usefulness": one.usefulness,
        "importance": one.importance,
        "confidence": one.confidence,
        "trust": one.trust,
        "trust_curve": one.trust_curve,
        "trust_half_life_hours": one.trust_half_life_hours,
        "created_at": one.created_at,
        "tier": one.tier,
        "last_accessed_at": usage and usage.accessed,
        "retrieval_count": usage and usage.retrievals,
    }
    moment = MOMENT + timedelta(days=axis.after)
    alone = Profile("one axis", {axis.what: 1.0})
    return math.sqrt(axis.reference) * score(alone, values, as_of=moment).score


def _unit(embedding: Any) -> list[float]:
    if embedding is None:
        return [0.0] * DIMENSIONS
    length = math.hypot(*embedding)
    return [x / length for x in embedding]


LEAN = {
    "similarity": ("five_factor", {"similarity": 1.0}),
    "usefulness": ("five_factor", {"similarity": 0.02, "usefulness": 0.98}),
    "importance": ("last_access", {"similarity": 0.02, "importance": 0.98}),
    "recency": ("half_life", {"similarity": 0.02, "recency": 0.98}),
    "trust": ("trust", {"similarity": 0.02, "trust": 0.98}),
}
"""A profile and weights under which little counts but one signal."""


def leaning(signal: str) -> dict[str, Any]:
    profile, weights = LEAN[signal]
    return {"profile": profile, "weights": weights}


def _feedback(repo: MemoryRepository, memory_id: UUID) -> None:
    for _ in range(30):
        repo.feedback(BIG, memory_id, "useful")


def _outcomes(repo: MemoryRepository, memory_id: UUID) -> None:
    for _ in range(40):
        repo.record_outcome(BIG, memory_id, "success")


def _replaced(repo: MemoryRepository, memory_id: UUID) -> None:
    there = repo.get(BIG, memory_id)
    assert there is not None
    again = NewMemory(there.content, embedding=QUERY)
    assert repo.add(BIG, again, duplicates="replace").outcome == "duplicate"


Change = Callable[[MemoryRepository, UUID], Any]
BETTERED: dict[str, tuple[str, Change]] = {
    "embedded anew": ("similarity", lambda r, m: r.update(BIG, m, embedding=QUERY)),
    "replaced": ("similarity", _replaced),
    "updated": ("importance", lambda r, m: r.update(BIG, m, importance=1.0)),
    "set importance": ("importance", lambda r, m: r.set_importance(BIG, m, 1.0)),
    "useful": ("usefulness", _feedback),
    "touched": ("recency", lambda r, m: r.touch(BIG, m)),
    "dated anew": ("recency", lambda r, m: r.update(BIG, m, created_at=datetime.now(UTC))),
    "gone well": ("trust", _outcomes),
    "trusted": ("trust", lambda r, m: r.adjust_trust(BIG, m, 1.0, "checked", "me")),
}


@pytest.mark.parametrize("how", BETTERED)
def test_the_worst_memory_is_found_first_as_soon_as_it_has_become_the_best(
    undone: MemoryRepository, how: str
) -> None:
    signal, change = BETTERED[how]
    asked = leaning(signal)
    ranked = undone.search(BIG, QUERY, k=MANY, strategy="exact", touch=False, **asked)
    worst = next(
        hit.memory.id
        for hit in reversed(ranked)
        if hit.memory.last_accessed_at is None
        and hit.memory.trust is not None
        and hit.memory.created_at is not None
    )
    assert worst not in ids_of(both(undone, k=50, **asked)[0])

    change(undone, worst)

    found, exact = both(undone, k=50, **asked)
    assert found.strategy == "index"
    assert found[0].memory.id == worst
    assert recall(found, exact) >= 0.9


@pytest.mark.parametrize("weight", [0.5, 0.7])
def test_a_memory_that_was_used_often_since_is_found_first_where_only_that_counts_use(
    undone: MemoryRepository, weight: float
) -> None:
    asked: dict[str, Any] = {"weights": {"similarity": 1 - weight, "frequency": weight}}
    ranked = undone.search(BIG, QUERY, k=MANY, strategy="exact", touch=False, **asked)
    chosen = next(
        hit.memory.id
        for hit in reversed(ranked)
        if hit.memory.retrieval_count == 0 and hit.score + weight > ranked[0].score + 0.01
    )
    for _ in range(50):
        undone.touch(BIG, chosen)

    found, exact = both(undone, **asked)

    assert found.strategy == "index"
    assert exact[0].memory.id == found[0].memory.id == chosen
    assert recall(found, exact) >= 0.9


@pytest.mark.parametrize(("weight", "beside"), [(0.05, False), (0.1, False), (0.11, True)])
def test_what_was_used_since_is_scored_beside_where_frequency_weighs_more_than_a_tenth(
    undone: MemoryRepository, weight: float, beside: bool
) -> None:
    asked: dict[str, Any] = {"weights": {"similarity": 1 - weight, "frequency": weight}}
    before = both(undone, **asked)[0].candidates
    farthest = undone.search(BIG, [-x for x in QUERY], k=30, strategy="exact", touch=False)
    undone.touch(BIG, [hit.memory.id for hit in farthest])

    after = both(undone, **asked)[0].candidates

    assert before is not None
    assert after == before + (30 if beside else 0)


def test_a_memory_that_was_added_since_is_found_at_once(undone: MemoryRepository) -> None:
    added = undone.add(BIG, NewMemory("new", embedding=QUERY, importance=1.0, usefulness=1.0))

    found, exact = both(undone, strategy="auto")

    assert found.strategy == "index"
    assert found[0].memory.id == added
    assert recall(found, exact) >= 0.9


def test_many_memories_that_were_added_since_are_all_ranked(undone: MemoryRepository) -> None:
    undone.add_many(BIG, [NewMemory(f"new {n}", embedding=similar(n / 300)) for n in range(300)])

    found, exact = both(undone, query=NORTH, k=80, weights={"similarity": 1.0})

    assert found.strategy == "index"
    assert sum(content.startswith("new") for content in contents(exact)) >= 20
    assert [c for c in contents(found) if c.startswith("new")] == [
        c for c in contents(exact) if c.startswith("new")
    ]


def test_an_old_memory_that_was_written_since_is_found_whatever_its_date(
    undone: MemoryRepository,
) -> None:
    added = undone.add(
        BIG, NewMemory("new", embedding=QUERY, usefulness=1.0, created_at=ago(4_000))
    )

    found, _ = both(undone, weights={"similarity": 0.5, "usefulness": 0.5})

    assert found[0].memory.id == added


def test_a_forgotten_memory_is_found_as_soon_as_it_is_revived(
    undone: MemoryRepository, world: World
) -> None:
    forgotten = undone.search(
        BIG, QUERY, k=MANY, include_invalid=True, where=_is_forgotten(undone), touch=False
    )
    assert len(forgotten) == FORGOTTEN
    one = next(hit.memory.id for hit in forgotten if hit.similarity is not None)
    assert one not in world.memories
    undone.revive(BIG, one)
    undone.update(BIG, one, embedding=None)
    undone.update(BIG, one, embedding=QUERY)

    found, exact = both(undone, weights={"similarity": 1.0})

    assert ids_of(found)[0] == ids_of(exact)[0] == one


def _is_forgotten(repo: MemoryRepository) -> Any:
    return repo.memories.c.invalidated_at.is_not(None)


def test_a_revived_memory_is_found_where_it_belongs_without_another_change(
    undone: MemoryRepository,
) -> None:
    forgotten = undone.search(
        BIG, QUERY, k=MANY, include_invalid=True, where=_is_forgotten(undone), touch=False
    )
    vectors = {
        hit.memory.id: undone.get(BIG, hit.memory.id, include_embedding=True) for hit in forgotten
    }
    undone.revive(BIG, list(vectors))

    for id_, stored in vectors.items():
        assert stored is not None
        if stored.embedding is not None:
            found, _ = both(undone, query=stored.embedding, k=3, weights={"similarity": 1.0})
            assert found[0].memory.id == id_


WORSENED: dict[str, Change] = {
    "deleted": lambda r, m: r.delete(BIG, m),
    "forgotten": lambda r, m: r.invalidate(BIG, m),
    "superseded": lambda r, m: r.supersede(BIG, m, NewMemory("instead", embedding=None)),
    "expired": lambda r, m: r.update(BIG, m, expires_at=ago(0.5)),
    "no longer valid": lambda r, m: r.update(BIG, m, valid_until=ago(0.5)),
    "not valid yet": lambda r, m: r.update(BIG, m, valid_from=MOMENT + timedelta(days=900)),
    "archived": lambda r, _: r.prune(BIG, older_than=timedelta(days=20)),
    "cleared": lambda r, _: r.clear(BIG),
}


@pytest.mark.parametrize("how", WORSENED)
def test_the_best_memory_is_hidden_as_soon_as_it_is_gone(
    undone: MemoryRepository, how: str
) -> None:
    asked: dict[str, Any] = {"weights": {"similarity": 0.9, "usefulness": 0.1}}
    best = next(
        hit.memory.id
        for hit in both(undone, k=100, **asked)[0]
        if hit.memory.created_at is not None and hit.memory.created_at < ago(30)
    )
    before, _ = both(undone, k=100, **asked)
    assert best in ids_of(before)

    WORSENED[how](undone, best)

    found, exact = both(undone, k=100, **asked)
    assert best not in ids_of(found)
    assert recall(found, exact) >= 0.95


def test_what_begins_or_ends_after_the_moment_of_the_index_is_found_while_it_holds(
    own: MemoryRepository, agent: str
) -> None:
    known: dict[str, Any] = {"embedding": QUERY, "created_at": ago(2)}
    *_, waiting = indexed(
        own,
        agent,
        [
            *memories_of(agent, 1_500),
            NewMemory("ends", **known, valid_until=SOON),
            NewMemory("expires", **known, expires_at=SOON),
            NewMemory("holds later", **known, valid_from=MOMENT + timedelta(hours=2)),
        ],
    )
    asked: dict[str, Any] = {"k": 2, "weights": {"similarity": 1.0}}

    early, _ = both(own, agent, as_of=SOON - timedelta(minutes=1), **asked)
    late, exact = both(own, agent, as_of=SOON, **asked)
    later, best = both(own, agent, as_of=MOMENT + timedelta(hours=3), **asked)

    assert sorted(contents(early)) == ["ends", "expires"]
    assert late.strategy == "index"
    assert recall(late, exact) == 1.0
    assert not {"ends", "expires", "holds later"} & set(contents(late))
    assert ids_of(later)[0] == ids_of(best)[0] == waiting


@pytest.mark.parametrize("days", [1e-6, 1, 10, 500])
def test_a_moment_before_that_of_the_index_is_ranked_exactly(
    whole: MemoryRepository, days: float
) -> None:
    found, exact = both(whole, as_of=ago(days))

    assert found.strategy == "exact"
    assert found == exact
    assert all(hit.memory.created_at is None or hit.memory.created_at <= ago(days) for hit in found)


def test_the_moment_of_the_index_is_ranked_through_it(whole: MemoryRepository) -> None:
    found, exact = both(whole, as_of=MOMENT)

    assert found.strategy == "index"
    assert recall(found, exact) >= 0.9


@pytest.mark.parametrize("year", [2200, 9000])
def test_a_moment_far_ahead_has_an_answer(whole: MemoryRepository, year: int) -> None:
    as_of = datetime(year, 1, 1, tzinfo=UTC)

    assert mean_recall(whole, as_of=as_of, profile="half_life") >= 0.9


def test_now_is_a_moment_after_that_of_the_index(whole: MemoryRepository) -> None:
    found, exact = (
        whole.search(BIG, QUERY, strategy=strategy, touch=False) for strategy in ("auto", "exact")
    )

    assert (found.strategy, exact.strategy) == ("index", "exact")
    assert len(set(ids_of(found)) & set(ids_of(exact))) >= 9


@pytest.mark.parametrize(("k", "strategy"), [(1, "index"), (80, "index"), (81, "exact")])
def test_as_many_hits_as_asked_for(whole: MemoryRepository, k: int, strategy: str) -> None:
    found, exact = both(whole, k=k, as_of=SOON)

    assert len(found) == k
    assert found.strategy == strategy
    assert recall(found, exact) >= 0.97


@pytest.mark.parametrize("k", [200, 1_000, MANY + 1])
def test_more_hits_than_an_index_is_good_for_are_ranked_exactly(
    whole: MemoryRepository, k: int
) -> None:
    found, exact = both(whole, k=k, as_of=SOON)

    assert found.strategy == "exact"
    assert len(found) == min(k, MANY - FORGOTTEN)
    assert found == exact


@pytest.mark.parametrize("k", [59, 60, 61, 100])
def test_everything_is_found_where_fewer_exist_than_are_asked_for(
    own: MemoryRepository, agent: str, k: int
) -> None:
    indexed(own, agent, memories_of(agent, 60))

    found, exact = both(own, agent, k=k, as_of=SOON)

    assert len(found) == min(k, 60)
    assert found == exact


def test_an_agent_without_any_memory_left_has_no_hits(own: MemoryRepository, agent: str) -> None:
    ids = indexed(own, agent, memories_of(agent, 30))
    own.delete(agent, ids)

    assert both(own, agent)[0] == []


def test_an_agent_without_memories_gets_no_index(own: MemoryRepository, agent: str) -> None:
    assert own.build_rank_indexes(agent_id=agent, at_least=1) == []
    assert own.search(agent, QUERY, strategy="index") == []


@pytest.mark.parametrize("floor", [0.0, 0.5, 0.6, 0.66, 0.99])
def test_min_score_leaves_out_what_scores_less(whole: MemoryRepository, floor: float) -> None:
    for query in QUERIES:
        found, exact = both(whole, query=query, as_of=SOON, min_score=floor)

        assert found.strategy == "index"
        assert all(hit.score >= floor for hit in found)
        assert len(found) == len(exact)
        assert recall(found, exact) >= 0.8


@pytest.mark.parametrize("floor", [0.0, 0.3, 0.8, 1.0])
def test_min_similarity_leaves_out_what_is_less_similar(
    whole: MemoryRepository, floor: float
) -> None:
    for query in QUERIES:
        found, exact = both(whole, query=query, as_of=SOON, min_similarity=floor)

        assert all(hit.similarity is not None and hit.similarity >= floor for hit in found)
        assert recall(found, exact) >= 0.8


@pytest.mark.parametrize(
    "filters",
    [
        {"include_invalid": True},
        {"statuses": ["archived"]},
        {"statuses": ["active", "archived"]},
        {"statuses": []},
    ],
    ids=repr,
)
def test_what_an_index_does_not_hold_is_ranked_exactly(
    whole: MemoryRepository, filters: dict[str, Any]
) -> None:
    found, exact = both(whole, as_of=SOON, **filters)

    assert found.strategy == "exact"
    assert found == exact


def test_include_invalid_finds_what_is_not_in_the_index(whole: MemoryRepository) -> None:
    found = whole.search(
        BIG, QUERY, strategy="index", include_invalid=True, where=_is_forgotten(whole), touch=False
    )

    assert len(found) == 10


@pytest.mark.parametrize(
    ("agent_id", "team_ids"),
    [
        (agent, teams)
        for agent, teams in product(
            ["indexed", "plain", "nobody"],
            [
                *(["indexed"], ["plain"], ["nobody"], ["indexed", "plain"]),
                *(["indexed", "indexed too"], ["indexed too", "plain", "indexed", "nobody"]),
            ],
        )
    ],
)
def test_agents_and_teams_are_ranked_together_whichever_have_an_index(
    whole: MemoryRepository, agent_id: str, team_ids: list[str]
) -> None:
    shares = []
    for query in QUERIES:
        found, exact = both(whole, agent_id, query, teams=team_ids, k=20, as_of=SOON)
        shares.append(recall(found, exact))
        asked_an_index = any(owner.startswith("indexed") for owner in [agent_id, *team_ids])
        assert (found.strategy == "index") is asked_an_index
        assert {hit.memory.agent_id for hit in found} <= {agent_id, None}
        assert {hit.memory.team_id for hit in found} <= {*team_ids, None}

    assert fmean(shares) >= 0.98


@pytest.mark.parametrize("team_ids", [(), ("indexed too",), ("plain",), ("indexed",)])
@pytest.mark.parametrize("team", ["indexed", "plain"])
def test_a_team_is_searched_as_an_agent_is(
    whole: MemoryRepository, team: str, team_ids: tuple[str, ...]
) -> None:
    has_index = any(owner.startswith("indexed") for owner in (team, *team_ids))
    for query in QUERIES:
        found, exact = both(whole.teams, team, query, teams=team_ids, k=20, as_of=SOON)

        assert (found.strategy == "index") is has_index
        assert ids_of(found)[0] == ids_of(exact)[0]
        assert len(found) == len(exact) == 20
        assert {hit.memory.team_id for hit in found} <= {team, *team_ids}
        assert {hit.score for hit in found} == {hit.score for hit in exact}


def test_a_filter_that_few_of_one_owner_pass_and_all_of_another_finds_them(
    own: MemoryRepository, agent: str
) -> None:
    def stored(name: str, count: int, usefulness: float, tagged: int) -> list[NewMemory]:
        rng = np.random.default_rng(3)
        return [
            NewMemory(
                f"{name} {n}",
                embedding=(np.array(QUERY) + rng.normal(scale=0.1, size=DIMENSIONS)).tolist(),
                usefulness=usefulness if n % tagged else usefulness / 2,
                tags=[] if n % tagged else ["wanted"],
                created_at=ago(2),
            )
            for n in range(count)
        ]

    indexed(own, agent, stored("mine", 1_000, 0.1, 1))
    indexed(own.teams, agent, stored("theirs", 1_500, 1.0, 100))
    try:
        found, exact = both(own, agent, teams=[agent], tags=["wanted"], as_of=SOON)

        assert all(content.startswith("theirs") for content in contents(exact))
        assert recall(found, exact) >= 0.9
    finally:
        own.teams.clear(agent)
        own.teams.drop_rank_index(agent)


def test_without_a_query_auto_ranks_exactly(whole: MemoryRepository) -> None:
    found, exact = both(whole, query=None, as_of=SOON, strategy="auto")

    assert found.strategy == "exact"
    assert found == exact


@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_without_a_query_the_index_ranks_by_the_other_signals(
    whole: MemoryRepository, name: str
) -> None:
    assert mean_recall(whole, queries=[None], profile=name, as_of=SOON) >= 0.9


def test_without_a_query_memories_without_a_vector_are_no_better_than_others(
    own: MemoryRepository, agent: str
) -> None:
    rng = np.random.default_rng(3)
    stored = [
        NewMemory(
            f"{n}",
            embedding=None if n % 4 == 0 else rng.normal(size=DIMENSIONS).tolist(),
            importance=rng.uniform(0, 1),
            created_at=ago(2),
        )
        for n in range(1_500)
    ]
    indexed(own, agent, stored)

    found, exact = both(own, agent, None, profile="half_life", as_of=SOON)

    assert recall(found, exact) >= 0.9


def test_what_never_fades_is_no_worse_than_what_has_no_date(
    own: MemoryRepository, agent: str
) -> None:
    rng = np.random.default_rng(3)
    stored = [
        NewMemory(
            f"{n}",
            embedding=rng.normal(size=DIMENSIONS).tolist(),
            created_at=None if n % 4 == 0 else ago(rng.uniform(0, 90)),
        )
        for n in range(1_500)
    ]
    indexed(own, agent, stored)
    profile = Profile("lasting", {Similarity(): 0.3, Recency(rate=0): 0.7})

    assert mean_recall(own, agent, profile=profile, as_of=SOON) >= 0.9


def test_where_similarity_weighs_nothing_auto_ranks_exactly(whole: MemoryRepository) -> None:
    asked: dict[str, Any] = {"weights": {"usefulness": 1.0}, "as_of": SOON}

    assert both(whole, strategy="auto", **asked)[0].strategy == "exact"
    assert mean_recall(whole, **asked) >= 0.95


def test_auto_takes_an_index_from_as_many_memories_on_as_it_was_built_for(
    own: MemoryRepository, agent: str
) -> None:
    own.add_many(agent, memories_of(agent, 120))
    strategies = {}
    for at_least in (120, 121):
        own.build_rank_indexes(agent_id=agent, at_least=at_least)
        strategies[at_least] = [
            own.search(agent, QUERY, strategy=asked, touch=False).strategy
            for asked in ("auto", "index", "exact")
        ]

    assert strategies == {
        120: ["index", "index", "exact"],
        121: ["exact", "index", "exact"],
    }


@pytest.mark.parametrize("steps", [1, 2])
def test_neighbours_of_hits_come_along(undone: MemoryRepository, steps: int) -> None:
    ranked = undone.search(BIG, QUERY, k=MANY, strategy="exact", touch=False)
    best, second, far, farther = (ranked[n].memory.id for n in (0, 1, -1, -2))
    undone.link(BIG, best, far)
    undone.link(BIG, far, farther)

    found, exact = both(undone, expand=steps, k=5)

    assert found.strategy == "index"
    assert found == exact
    assert {hit.memory.id: hit.steps for hit in found if hit.steps} == (
        {far: 1} if steps == 1 else {far: 1, farther: 2}
    )
    assert second in ids_of(found)


def test_each_hit_is_counted_once(undone: MemoryRepository, world: World) -> None:
    undone.add(BIG, NewMemory("new", embedding=QUERY, usefulness=1.0))  # comes by two ways
    found = undone.search(BIG, QUERY, strategy="index")
    again = undone.search(BIG, QUERY, strategy="index", touch=False)

    assert found.strategy == again.strategy == "index"
    before = {hit.memory.id: hit.memory.retrieval_count for hit in found}
    for memory_id, count in before.items():
        known = world.usage.get(memory_id)
        assert count == (known.retrievals if known else 0)
        now = undone.get(BIG, memory_id)
        assert now is not None
        assert now.retrieval_count == count + 1
    assert len(set(ids_of(found))) == 10


def test_hits_of_agent_and_team_are_counted_where_they_belong(undone: MemoryRepository) -> None:
    found = undone.search("indexed", QUERY, teams=["indexed"], k=30)

    assert found.strategy == "index"
    for hit in found:
        among = undone.teams if hit.memory.team_id else undone
        now = among.get("indexed", hit.memory.id)
        assert now is not None
        assert now.retrieval_count == 1


@pytest.mark.parametrize(
    "strategy", ["", "Index", "exact ", "candidates", None, 1, True, ["index"], {}], ids=repr
)
def test_a_strategy_that_does_not_exist_is_refused(whole: MemoryRepository, strategy: Any) -> None:
    with pytest.raises(InputError, match=r"strategy must be one of auto, exact, index"):
        whole.search(BIG, QUERY, strategy=strategy)


def test_hits_tell_how_they_were_found(whole: MemoryRepository) -> None:
    found, exact = both(whole, profile="five_factor")

    assert isinstance(found, Hits)
    assert isinstance(found, list)
    assert (found.strategy, exact.strategy) == ("index", "exact")
    assert exact.candidates is None
    assert found.candidates is not None
    assert 50 <= found.candidates <= 110
    assert both(whole, k=80, profile="five_factor")[0].candidates in range(400, 500)


def test_the_candidates_count_what_is_scored_beside_the_index(undone: MemoryRepository) -> None:
    before = both(undone)[0].candidates
    undone.add_many(BIG, [NewMemory(f"new {n}", embedding=at(n)) for n in range(70)])

    after = both(undone)[0].candidates

    assert before is not None
    assert after == before + 70


def test_what_the_index_hands_on_and_what_is_beside_it_is_scored_once(
    undone: MemoryRepository,
) -> None:
    before, _ = both(undone, k=20)
    for hit in before[:5]:
        undone.update(BIG, hit.memory.id, metadata={"seen": True})

    after, _ = both(undone, k=20)

    assert ids_of(after) == ids_of(before)
    assert after.candidates == before.candidates


@pytest.fixture
def indexed_either(either: MemoryRepository) -> Iterator[MemoryRepository]:
    yield either
    for among in (either, either.teams):
        for status in among.rank_indexes():
            among.drop_rank_index(status.agent_id)


def test_either_repository_searches_through_an_index(
    indexed_either: MemoryRepository, agent: str
) -> None:
    either = indexed_either
    indexed(either, agent, memories_of(agent, 300))
    indexed(either.teams, agent, memories_of(f"{agent} team", 300))

    assert mean_recall(either, agent, QUERIES[:4], as_of=SOON) >= 0.95
    assert mean_recall(either, agent, QUERIES[:4], as_of=SOON, teams=[agent]) >= 0.95
    added = either.add(agent, NewMemory("new", embedding=QUERY, usefulness=1.0))
    found, exact = both(either, agent, as_of=datetime.now(UTC) + timedelta(days=1))
    assert found.strategy == "index"
    assert found.candidates is not None
    assert ids_of(found)[0] == ids_of(exact)[0] == added


def test_agents_with_indexes_see_only_their_own(own: MemoryRepository, agent: str) -> None:
    other = f"{agent} too"
    try:
        same = [replace(one, id=None) for one in memories_of(agent, 200)]
        mine, theirs = indexed(own, agent, same), indexed(own, other, same)

        for owner, ids in ((agent, mine), (other, theirs)):
            for query in QUERIES:
                found, exact = both(own, owner, query, k=25, as_of=SOON)
                assert found.strategy == "index"
                assert set(ids_of(found)) <= set(ids)
                assert {hit.memory.agent_id for hit in found} == {owner}
                assert recall(found, exact) >= 0.9
    finally:
        own.clear(other)
        own.drop_rank_index(other)


def test_the_index_of_another_agent_hands_on_nothing(
    own: MemoryRepository, world: World, agent: str
) -> None:
    same_ids = [replace(m, content=f"mine: {m.content}") for m in memories_of(BIG, 300)]
    mine = indexed(own, agent, same_ids)
    sql(
        world.engine,
        "UPDATE pgrecall.rank_indexes SET relation = "
        "(SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = :big) WHERE agent_id = :me",
        big=BIG,
        me=agent,
    )
    try:
        for query in QUERIES:
            found, exact = both(own, agent, query, as_of=SOON)
            assert set(ids_of(found)) <= set(mine)
            assert all(hit.memory.content.startswith("mine: ") for hit in found)
            assert len(found) == len(exact)
    finally:
        sql(world.engine, "DELETE FROM pgrecall.rank_indexes WHERE agent_id = :me", me=agent)


HOSTILE = [
    "'; DROP TABLE pgrecall.agent_memories; --",
    "\"double\" 'single' `back` %s %(name)s %% % :owner_id ::text $1 ? {curly} {0} {{}} {",
    " back\\slash \\n \\\\ \\ tab\tnew\nline\r\n ",
    "ranks_00000000000000000000000000000000",
    "🙂 שלום \u202eعربى e\u0301 is not é",
    "Ω" * 200,
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_an_agent_may_have_any_name(whole: MemoryRepository, name: str) -> None:
    try:
        indexed(whole, name, memories_of(name, 150))
        indexed(whole.teams, name, memories_of(f"{name} as a team", 150))

        found, exact = both(whole, name, teams=[name], as_of=SOON, k=20)

        assert found.strategy == "index"
        assert recall(found, exact) >= 0.9
        assert {hit.memory.agent_id for hit in found} == {name, None}
        assert [status.agent_id for status in whole.rank_indexes(agent_id=name)] == [name]
    finally:
        for among in (whole, whole.teams):
            assert among.clear(name) == 150
            among.drop_rank_index(name)


def test_an_index_of_another_version_is_not_used(
    own: MemoryRepository, world: World, agent: str
) -> None:
    indexed(own, agent, memories_of(agent, 200))
    sql(
        world.engine,
        "UPDATE pgrecall.rank_indexes SET space = 999 WHERE agent_id = :agent",
        agent=agent,
    )

    for strategy in ("index", "auto"):  # in this order: auto may know of it from before
        found, exact = both(own, agent, strategy=strategy, as_of=SOON)
        assert found.strategy == "exact"
        assert found == exact
    [status] = own.rank_indexes(agent_id=agent)
    assert status.due is not None
    assert "another version" in status.due


def relation_of(repo: MemoryRepository, agent: str) -> str:
    [status] = repo.rank_indexes(agent_id=agent)
    assert status.index is not None
    assert re.fullmatch(r"ranks_[0-9a-f]{32}", status.index.relation)
    return status.index.relation


def poor(count: int) -> list[NewMemory]:
    """New ones that are worse than any other."""
    away = [-x for x in QUERY]
    return [
        NewMemory(
            f"poor {n}", embedding=away, usefulness=0.0, confidence=0.0, created_at=ago(2_000)
        )
        for n in range(count)
    ]


@pytest.mark.parametrize(("count", "written"), [(90, 0), (90, 120), (600, 15)])
def test_an_index_that_was_dropped_behind_our_back_costs_no_hits(
    own: MemoryRepository, world: World, agent: str, count: int, written: int
) -> None:
    indexed(own, agent, memories_of(agent, count))
    own.add_many(agent, poor(written))
    sql(world.engine, f"DROP TABLE pgrecall.{relation_of(own, agent)}")

    for strategy in ("index", "auto"):  # in this order: auto may know of it from before
        found, exact = both(own, agent, strategy=strategy, as_of=datetime.now(UTC))
        assert found.strategy == "exact"
        assert found == exact
    assert own.rank_indexes(agent_id=agent)[0].bytes == 0
    assert own.drop_rank_index(agent)


def test_an_index_that_is_gone_costs_no_hits_beside_one_that_is_there(
    own: MemoryRepository, world: World, agent: str
) -> None:
    indexed(own, agent, memories_of(agent, 600))
    sql(world.engine, f"DROP TABLE pgrecall.{relation_of(own, agent)}")

    found, exact = both(own, agent, teams=["indexed"], as_of=SOON)

    assert {hit.memory.agent_id for hit in exact} == {agent, None}
    assert recall(found, exact) >= 0.9


@pytest.mark.parametrize(("count", "how"), [(90, "rebuilt"), (600, "dropped")])
def test_an_index_that_another_client_has_changed_costs_no_hits(
    own: MemoryRepository, world: World, agent: str, count: int, how: str
) -> None:
    indexed(own, agent, memories_of(agent, count))
    own.add_many(agent, poor(15))
    assert own.search(agent, QUERY, touch=False).strategy == "index"
    another_engine = create_engine(world.engine.url, poolclass=NullPool)
    another = MemoryRepository(another_engine)

    if how == "rebuilt":
        another.build_rank_indexes(agent_id=agent, at_least=1)
    else:
        another.drop_rank_index(agent)

    found, exact = both(own, agent, strategy="auto", as_of=SOON)
    assert recall(found, exact) >= 0.9
    another_engine.dispose()


def test_an_index_whose_building_was_rolled_back_costs_no_hits(
    own: MemoryRepository, world: World, agent: str
) -> None:
    own.add_many(agent, memories_of(agent, 90))
    with world.engine.connect() as connection:
        MemoryRepository(connection).build_rank_indexes(agent_id=agent, at_least=1)
        connection.rollback()
    own.add_many(agent, poor(15))

    found, exact = both(own, agent, strategy="auto", as_of=SOON)

    assert found == exact


def test_an_index_of_a_moment_ahead_is_not_used_before_it(
    own: MemoryRepository, agent: str
) -> None:
    now = datetime.now(UTC)
    passing = NewMemory("soon over", embedding=QUERY, expires_at=now + timedelta(days=5))
    own.add_many(agent, [*memories_of(agent, 600), passing])
    own.build_rank_indexes(agent_id=agent, at_least=1, as_of=now + timedelta(days=10))

    for strategy in ("index", "auto"):
        found = own.search(
            agent, QUERY, weights={"similarity": 1.0}, strategy=strategy, touch=False
        )
        assert found.strategy == "exact"
        assert found[0].memory.content == "soon over"


def test_an_index_that_was_emptied_behind_our_back_costs_no_hits(
    own: MemoryRepository, world: World, agent: str
) -> None:
    indexed(own, agent, memories_of(agent, 600))
    own.add_many(agent, poor(20))
    sql(world.engine, f"TRUNCATE pgrecall.{relation_of(own, agent)}")

    found, exact = both(own, agent, as_of=datetime.now(UTC))

    assert found == exact


def test_a_relation_of_a_hostile_name_is_never_executed(
    own: MemoryRepository, world: World, agent: str
) -> None:
    indexed(own, agent, memories_of(agent, 200))
    row = sql(
        world.engine,
        "SELECT to_jsonb(r) FROM pgrecall.rank_indexes r WHERE agent_id = :agent",
        agent=agent,
    )[0][0]
    rename = "UPDATE pgrecall.rank_indexes SET relation = :relation WHERE agent_id = :agent"
    for relation in (
        'x"; CREATE TABLE pgrecall.executed (); --',
        "agent_memories ORDER BY position; CREATE TABLE pgrecall.executed (); --",
        "agent_memories",
        "pg_catalog.pg_class",
        "ranks_0123456789abcdef0123456789abcdef; CREATE TABLE pgrecall.executed ()",
        "ranks_0123456789abcdef0123456789abcdef\n",
        "RANKS_0123456789ABCDEF0123456789ABCDEF",
        "",
    ):
        sql(world.engine, rename, relation=relation, agent=agent)
        with pytest.raises(DatabaseError, match="relation must be the table of a rank index"):
            own.search(agent, QUERY, strategy="index", touch=False)
        assert own.drop_rank_index(agent)  # and nothing else is dropped

        assert own.search(agent, QUERY, strategy="exact", touch=False)
        assert sql(
            world.engine,
            "SELECT to_regclass('pgrecall.executed'), to_regclass('pgrecall.agent_memories') "
            "IS NOT NULL, to_regclass('pgrecall.' || :former) IS NOT NULL",
            former=row["relation"],
        ) == [(None, True, True)]
        sql(
            world.engine,
            "INSERT INTO pgrecall.rank_indexes "
            "SELECT * FROM jsonb_populate_record(NULL::pgrecall.rank_indexes, CAST(:row AS jsonb))",
            row=json.dumps(row),
        )
