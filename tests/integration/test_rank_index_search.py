"""Searches through rank indexes against exact ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from statistics import fmean
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import numpy as np
import pytest
from sqlalchemy import Engine, NullPool, create_engine

from pgrecall import Hits, MemoryRepository, NewMemory, RetentionPolicy, profiles
from pgrecall.errors import DatabaseError, InputError
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner, plain
from tests.integration.rank_indexes import build, recall
from tests.integration.rank_indexes import ids as ids_of
from tests.integration.support import NORTH, contents, read, similar, sql

pytestmark = pytest.mark.hnsw

MOMENT = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
"""The newest that the memories know of, and so the moment of their indexes."""
SOON = MOMENT + timedelta(hours=1)
BIG, MANY = "big", 1_200
SMALL = 150
FORGOTTEN = 20
TIERS = ("short", "medium", "long")
CURVES = (None, "exponential", "linear", "hyperbolic")
HALF_LIFE_HOURS = (None, 24.0, 168.0, 2_000.0)
QUERIES = [vector.tolist() for vector in np.random.default_rng(7).normal(size=(4, DIMENSIONS))]
QUERY: list[float] = QUERIES[0]


@dataclass(frozen=True)
class World:
    """A database with memories of several owners, some of them indexed."""

    engine: Engine
    memories: Mapping[UUID, NewMemory]
    """Of BIG."""
    usage: Mapping[UUID, tuple[int, datetime]]
    """Retrievals, and the last of them."""


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


def use(engine: Engine, stored: Sequence[NewMemory]) -> dict[UUID, tuple[int, datetime]]:
    """Counts retrievals of every third memory, none of them after MOMENT."""
    rng = np.random.default_rng(5)
    counted = (
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, "
        "last_accessed_at) VALUES (:owner, :id, :retrievals, :accessed)"
    )
    used = {}
    for one in stored[::3]:
        created = one.created_at if isinstance(one.created_at, datetime) else ago(50)
        accessed = created + rng.uniform() * (MOMENT - created)
        assert isinstance(one.id, UUID)
        number, moment = used[one.id] = int(rng.integers(1, 80)), accessed
        sql(engine, counted, owner=BIG, id=one.id, retrievals=number, accessed=moment)
    return used


@pytest.fixture(scope="module")
def world(module_engine: Engine) -> World:
    repo = MemoryRepository(module_engine)
    stored = memories_of(BIG, MANY)
    ids = repo.add_many(BIG, stored)
    used = use(module_engine, stored)
    sql(  # long before MOMENT, so that no index has them
        module_engine,
        "UPDATE pgrecall.agent_memories SET invalidated_at = :then, "
        "invalidation_reason = 'forgotten' WHERE id = ANY (:ids)",
        then=ago(1_000),
        ids=ids[-FORGOTTEN:],
    )
    build(repo, BIG)
    for among in (repo, repo.teams):
        for owner in ("indexed", "plain"):
            among.add_many(owner, memories_of(f"{owner} {among is repo}", SMALL))
        build(among, "indexed")
    repo.teams.add_many("indexed too", memories_of("indexed too", SMALL))
    build(repo.teams, "indexed too")
    sql(module_engine, "ANALYZE")
    held = dict(zip(map(_plain, ids[:-FORGOTTEN]), stored, strict=False))
    return World(module_engine, held, used)


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
def own(world: World, agent: str) -> Iterator[Owner]:
    """For tests that index an agent of their own."""
    owner = Owner(world.engine, agent)
    yield owner
    for one in (owner, owner.team):
        one.erase_owner()
        one.rank_indexes.drop()


def indexed(owner: Owner, stored: Sequence[NewMemory]) -> list[UUID]:
    ids = owner.add_many(stored)
    build(owner.repo, owner.name)
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


def both_of(own: Owner, query: Any = QUERY, **asked: Any) -> tuple[Hits, Hits]:
    return both(own.repo, own.name, query, **asked)


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


@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_every_built_in_profile_finds_the_exact_answer(whole: MemoryRepository, name: str) -> None:
    """Whichever signal leads, and also without a query."""
    weights = profiles.named(name).weights
    soon: dict[str, Any] = {"profile": name, "as_of": SOON}
    for as_of in (MOMENT, MOMENT + timedelta(days=25)):
        assert mean_recall(whole, profile=name, as_of=as_of, strategy="auto") >= 0.97
    for leading in weights:
        rest = [signal for signal in weights if signal != leading]
        leaning = {leading: 0.7} | dict.fromkeys(rest, 0.3 / len(rest))
        # Without words, dates and names, frequency has a share of their weight: more than `auto`
        # accepts.
        of_texts = ("frequency", "keyword", "time", "entity_overlap")
        strategy = "index" if leading in of_texts else "auto"
        asked = soon | {"weights": leaning, "strategy": strategy}
        assert mean_recall(whole, **asked) >= 0.97, leading
    assert mean_recall(whole, queries=[None], **soon) >= 0.9
    found, exact = both(whole, query=None, **soon, strategy="auto")
    assert found.strategy == "exact"
    assert found == exact


def test_auto_ranks_exactly_what_is_not_covered_and_index_does_as_it_is_told(
    whole: MemoryRepository,
) -> None:
    """Other half-lives, much frequency, whose counts are those of the build, no similarity."""
    cases = dict.fromkeys(("last_access", "half_life", "tiered"), (1, 180))
    for name, half_lives in {**cases, "five_factor": (1, 2.5, 14, 100, 180)}.items():
        for half_life in half_lives:
            profile = profiles.named(name).with_half_life(half_life)
            found = mean_recall(whole, profile=profile, as_of=SOON, strategy="auto")
            assert found >= 0.97, (name, half_life)
    for half_life in (1e-9, 0.5, 200, 1e9):
        profile = profiles.five_factor.with_half_life(half_life)
        assert both(whole, profile=profile, strategy="auto")[0].strategy == "exact"
        assert mean_recall(whole, profile=profile, as_of=SOON) >= 0.7
    for weight, strategy in ((0.1, "index"), (0.11, "exact")):
        weights = {"similarity": 1 - weight, "frequency": weight}
        assert both(whole, weights=weights, strategy="auto")[0].strategy == strategy
        assert both(whole, weights=weights)[0].strategy == "index"
    asked: dict[str, Any] = {"weights": {"usefulness": 1.0}, "as_of": SOON}
    assert both(whole, strategy="auto", **asked)[0].strategy == "exact"
    assert mean_recall(whole, **asked) >= 0.95


LEAN = {
    **dict.fromkeys(("similarity", "usefulness"), "five_factor"),
    "importance": "last_access",
    "recency": "half_life",
    "trust": "trust",
}
"""Signals, each with a profile that has it."""


def leaning(signal: str) -> dict[str, Any]:
    """Little counts but this one."""
    weights = {"similarity": 0.02, signal: 0.98} if signal != "similarity" else {signal: 1.0}
    return {"profile": LEAN[signal], "weights": weights}


def _replaced(repo: MemoryRepository, memory_id: UUID) -> None:
    again = NewMemory(read(repo, BIG, memory_id).content, embedding=QUERY)
    assert repo.add(BIG, again, duplicates="replace").outcome == "duplicate"


Change = Callable[[MemoryRepository, UUID], Any]
BETTERED: dict[str, tuple[str, Change]] = {
    "embedded anew": ("similarity", lambda r, m: r.update(BIG, m, embedding=QUERY)),
    "replaced": ("similarity", _replaced),
    "updated": ("importance", lambda r, m: r.update(BIG, m, importance=1.0)),
    "useful": ("usefulness", lambda r, m: [r.feedback(BIG, m, "useful") for _ in range(30)]),
    "touched": ("recency", lambda r, m: r.touch(BIG, m)),
    "dated anew": ("recency", lambda r, m: r.update(BIG, m, created_at=datetime.now(UTC))),
    "gone well": ("trust", lambda r, m: [r.record_outcome(BIG, m, "success") for _ in range(40)]),
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


def test_memories_that_were_added_since_are_found_at_once(undone: MemoryRepository) -> None:
    """Whatever their date."""
    new = NewMemory("new", embedding=QUERY, importance=1.0, usefulness=1.0, created_at=ago(4_000))
    added = undone.add(BIG, new)
    found, exact = both(undone, strategy="auto", weights={"similarity": 0.5, "usefulness": 0.5})
    assert found.strategy == "index"
    assert found[0].memory.id == added
    assert recall(found, exact) >= 0.9

    before = both(undone)[0].candidates
    undone.add_many(BIG, [NewMemory(f"new {n}", embedding=similar(n / 300)) for n in range(300)])
    found, exact = both(undone, query=NORTH, k=80, weights={"similarity": 1.0})
    assert found.strategy == "index"
    news = [[c for c in contents(hits) if c.startswith("new")] for hits in (found, exact)]
    assert len(news[1]) >= 20
    assert news[0] == news[1]
    assert before is not None
    assert both(undone)[0].candidates == before + 300


WORSENED: dict[str, Change] = {
    "deleted": lambda r, m: r.delete(BIG, m),
    "forgotten": lambda r, m: r.invalidate(BIG, m),
    "superseded": lambda r, m: r.supersede(BIG, m, plain("instead")),
    "expired": lambda r, m: r.update(BIG, m, expires_at=ago(0.5)),
    "no longer valid": lambda r, m: r.update(BIG, m, valid_until=ago(0.5)),
    "not valid yet": lambda r, m: r.update(BIG, m, valid_from=MOMENT + timedelta(days=900)),
    "archived": lambda r, _: r.maintenance.run(RetentionPolicy(max_age_hours=480), agent_id=BIG),
    "erased": lambda r, _: r.erase_owner(BIG),
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
    WORSENED[how](undone, best)

    found, exact = both(undone, k=100, **asked)
    assert best not in ids_of(found)
    assert recall(found, exact) >= 0.95


def test_what_begins_or_ends_after_the_moment_of_the_index_is_found_while_it_holds(
    own: Owner,
) -> None:
    known: dict[str, Any] = {"embedding": QUERY, "created_at": ago(2)}
    passing = [
        NewMemory("ends", **known, valid_until=SOON),
        NewMemory("expires", **known, expires_at=SOON),
        NewMemory("holds later", **known, valid_from=MOMENT + timedelta(hours=2)),
    ]
    indexed(own, [*memories_of(own.name, 300), *passing])

    def at(as_of: datetime) -> tuple[Hits, Hits]:
        return both_of(own, as_of=as_of, k=2, weights={"similarity": 1.0})

    assert sorted(contents(at(SOON - timedelta(minutes=1))[0])) == ["ends", "expires"]
    late, exact = at(SOON)
    assert late.strategy == "index"
    assert recall(late, exact) == 1.0
    assert not {one.content for one in passing} & set(contents(late))
    for hits in at(MOMENT + timedelta(hours=3)):
        assert contents(hits)[0] == "holds later"


def test_what_an_index_does_not_hold_is_ranked_exactly(whole: MemoryRepository) -> None:
    """Moments before that of the index, and memories that it leaves out."""
    cases: list[dict[str, Any]] = [
        {"include_inactive": True},
        {"include_inactive": True, "filter": {"status": "archived"}},
        *({"as_of": ago(1e-6)}, {"as_of": ago(10)}),
    ]
    for case in cases:
        asked = {"as_of": SOON} | case
        found, exact = both(whole, **asked)
        assert found.strategy == "exact"
        assert found == exact
        dates = [hit.memory.created_at for hit in found]
        assert all(date is None or date <= asked["as_of"] for date in dates)


def test_as_many_hits_as_asked_for_and_more_than_an_index_is_good_for_by_exact_ranking(
    whole: MemoryRepository,
) -> None:
    for k, strategy in ((1, "index"), (80, "index"), (81, "exact"), (MANY + 1, "exact")):
        found, exact = both(whole, k=k, as_of=SOON)
        assert (len(found), found.strategy) == (min(k, MANY - FORGOTTEN), strategy)
        assert recall(found, exact) >= 0.97
    asked = {"profile": "five_factor"}
    assert both(whole, **asked)[0].candidates in range(40, 111)
    assert both(whole, k=80, **asked)[0].candidates in range(320, 500)
    assert both(whole, **asked)[1].candidates is None


AMONG: tuple[tuple[str, list[str]], ...] = (
    *(("indexed", ["plain"]), ("plain", ["indexed"]), ("plain", ["plain"])),
    ("nobody", ["indexed", "indexed too"]),
    ("indexed", ["indexed too", "plain", "indexed", "nobody"]),
)


def test_agents_and_teams_are_ranked_together_whichever_have_an_index(
    whole: MemoryRepository,
) -> None:
    """And a team as an agent is."""
    for agent, teams in AMONG:
        shares = []
        for query, among in product(QUERIES[:2], (whole, whole.teams)):
            found, exact = both(among, agent, query, teams=teams, k=20, as_of=SOON)
            shares.append(recall(found, exact))
            has_index = any(owner.startswith("indexed") for owner in [agent, *teams])
            assert found.strategy == ("index" if has_index else "exact")
            own = {None} if among is whole.teams else {agent, None}
            assert {hit.memory.agent_id for hit in found} <= own
            assert {hit.memory.team_id for hit in found} <= {agent, *teams, None}
        assert fmean(shares) >= 0.97


def test_auto_takes_an_index_from_as_many_memories_on_as_it_was_built_for(own: Owner) -> None:
    own.add_many(memories_of(own.name, 120))
    for at_least, taken in ((120, "index"), (121, "exact")):
        own.repo.rank_indexes.build(agent_id=own.name, at_least=at_least)
        for asked, strategy in {"auto": taken, "index": "index", "exact": "exact"}.items():
            assert both_of(own, strategy=asked)[0].strategy == strategy
    others: list[Any] = ["", "Index", "candidates", None, 1, ["index"], {}]
    for strategy in others:
        with pytest.raises(InputError, match=r"strategy must be one of auto, exact, index"):
            own.search(QUERY, strategy=strategy)


def test_each_hit_is_counted_once_where_it_belongs(undone: MemoryRepository, world: World) -> None:
    undone.add(BIG, NewMemory("new", embedding=QUERY, usefulness=1.0))  # comes by two ways
    found = undone.search(BIG, QUERY, strategy="index")

    assert found.strategy == "index"
    assert len(set(ids_of(found))) == 10
    for hit in found:
        known = world.usage.get(hit.memory.id)
        assert hit.memory.retrieval_count == (known[0] if known else 0)
        now = read(undone, BIG, hit.memory.id)
        assert now.retrieval_count == hit.memory.retrieval_count + 1
    for hit in undone.search("indexed", QUERY, teams=["indexed"], k=30, strategy="index"):
        now = read(undone.teams if hit.memory.team_id else undone, "indexed", hit.memory.id)
        assert now.retrieval_count == 1
    before, _ = both(undone, k=20)
    for hit in before[:5]:
        undone.update(BIG, hit.memory.id, metadata={"seen": True})
    after, _ = both(undone, k=20)
    assert (ids_of(after), after.candidates) == (ids_of(before), before.candidates)


def test_agents_with_indexes_see_only_their_own(own: Owner, world: World) -> None:
    """Even where an index is listed as that of another, of the same ids."""
    mine = [replace(m, content=f"mine: {m.content}") for m in memories_of(BIG, 300)]
    ids = indexed(own, mine)
    listed = "UPDATE pgrecall.rank_indexes SET relation = :relation WHERE agent_id = :me"
    for relation in (relation_of(own.repo, own.name), relation_of(own.repo, BIG)):
        sql(world.engine, listed, relation=relation, me=own.name)
        for query in QUERIES:
            found, exact = both_of(own, query, as_of=SOON)
            assert set(ids_of(found)) <= set(ids)
            assert all(hit.memory.content.startswith("mine: ") for hit in found)
            assert len(found) == len(exact)
    sql(world.engine, "DELETE FROM pgrecall.rank_indexes WHERE agent_id = :me", me=own.name)


def relation_of(repo: MemoryRepository, agent: str) -> str:
    [status] = repo.rank_indexes.status(agent_id=agent)
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


@pytest.mark.parametrize("how", ["DROP TABLE", "TRUNCATE"])
def test_an_index_that_has_gone_behind_our_back_costs_no_hits(
    own: Owner, world: World, how: str
) -> None:
    indexed(own, memories_of(own.name, 200))
    sql(world.engine, f"{how} pgrecall.{relation_of(own.repo, own.name)}")

    found, exact = both_of(own, teams=["indexed"], as_of=SOON)  # beside one that is there
    assert {hit.memory.agent_id for hit in exact} == {own.name, None}
    assert recall(found, exact) >= 0.9
    for written in (0, 15, 120):
        own.add_many(poor(written))
        for strategy in ("index", "auto"):  # in this order: auto may know of it from before
            found, exact = both_of(own, strategy=strategy, as_of=datetime.now(UTC))
            assert found.strategy == "exact"
            assert found == exact
    assert own.rank_indexes.drop()


@pytest.mark.parametrize("how", ["rebuilt", "dropped", "rolled back"])
def test_an_index_that_another_client_has_changed_costs_no_hits(
    own: Owner, world: World, how: str
) -> None:
    own.add_many(memories_of(own.name, 200))
    if how != "rolled back":
        build(own.repo, own.name)
    own.add_many(poor(15))
    both_of(own, strategy="auto")  # so that it knows what there is
    with create_engine(world.engine.url, poolclass=NullPool).connect() as connection:
        other = MemoryRepository(connection)
        other.rank_indexes.drop(own.name) if how == "dropped" else build(other, own.name)
        connection.rollback() if how == "rolled back" else connection.commit()

    found, exact = both_of(own, strategy="auto", as_of=SOON)
    assert recall(found, exact) >= 0.9


def test_an_index_of_a_moment_ahead_is_not_used_before_it(own: Owner) -> None:
    now = datetime.now(UTC)
    passing = NewMemory("soon over", embedding=QUERY, expires_at=now + timedelta(days=5))
    own.add_many([*memories_of(own.name, 100), passing])
    own.repo.rank_indexes.build(agent_id=own.name, at_least=1, as_of=now + timedelta(days=10))

    for strategy in ("index", "auto"):
        found, _ = both_of(own, weights={"similarity": 1.0}, strategy=strategy)
        assert found.strategy == "exact"
        assert found[0].memory.content == "soon over"


def test_a_relation_of_a_hostile_name_is_never_executed(own: Owner, world: World) -> None:
    own.add_many(memories_of(own.name, 60))
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
        build(own.repo, own.name)
        sql(world.engine, rename, relation=relation, agent=own.name)
        with pytest.raises(DatabaseError, match="relation must be the table of a rank index"):
            own.search(QUERY, strategy="index", touch=False)
        assert own.rank_indexes.drop()  # and nothing else is dropped

        assert own.search(QUERY, strategy="exact", touch=False)
        assert sql(world.engine, "SELECT to_regclass('pgrecall.executed')") == [(None,)]
