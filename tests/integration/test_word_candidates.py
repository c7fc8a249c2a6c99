"""Searches by words through rank indexes, against exact ones and a count in Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import Hits, MemoryRepository, NewMemory
from tests.conftest import DIMENSIONS
from tests.integration.rank_indexes import build
from tests.integration.support import sql

BIG, SIZE = "big", 1_500
SMALL = 200
COMMON = 60
"""Noted from so many on, in these tests."""
BUILT = datetime.now(UTC)
SOON = BUILT + timedelta(days=1)
EXACT = 1e-9
VOCABULARY = [f"q{number}x" for number in range(600)]
"""Words that English leaves alone; the earlier, the more frequent."""
NAME = "zebulon"
SHARES = 1 / np.arange(1, len(VOCABULARY) + 1)
SHARES /= SHARES.sum()


def texts(owner: str, count: int) -> list[str]:
    rng = np.random.default_rng(list(owner.encode()))
    return [
        " ".join([*rng.choice(VOCABULARY, size=12, p=SHARES), f"no{number}"])
        for number in range(count)
    ]


def memories(owner: str, count: int) -> list[NewMemory]:
    rng = np.random.default_rng([7, *owner.encode()])
    return [
        NewMemory(
            text,
            embedding=rng.normal(size=DIMENSIONS).tolist(),
            importance=rng.uniform(),
            created_at=BUILT - timedelta(days=rng.exponential(40)),
            memory_type=("task", "note", "episodic")[number % 3],
            tags=["rare"] if number % 50 == 0 else [],
            entities=[f"N{number % 25}"],
        )
        for number, text in enumerate(texts(owner, count))
    ]


def plain(id_: UUID) -> UUID:
    return UUID(int=id_.int)


@dataclass(frozen=True)
class World:
    engine: Engine
    contents: Mapping[UUID, str] = field(repr=False)
    """Of BIG."""


@pytest.fixture(scope="module")
def world(module_engine: Engine) -> World:
    """BIG is indexed; agents and teams `indexed` and `plain` are what they are called."""
    repo = MemoryRepository(module_engine)
    stored = memories(BIG, SIZE)
    ids = repo.add_many(BIG, stored)
    build(repo, BIG)
    for among in (repo, repo.teams):
        for owner in ("indexed", "plain"):
            among.add_many(owner, memories(f"{owner} {among is repo}", SMALL))
        build(among, "indexed")
    sql(
        module_engine,
        "UPDATE pgrecall.rank_indexes r SET common_terms = "
        "(SELECT terms FROM pgrecall.common_terms(r.agent_id, :common, r.as_of))",
        common=COMMON,
    )
    sql(module_engine, "ANALYZE")
    contents = (one.content for one in stored)
    return World(module_engine, dict(zip(map(plain, ids), contents, strict=True)))


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


def queries(number: int, seed: int, *, words: int, rarest: int = len(VOCABULARY)) -> list[Any]:
    """Vectors and texts drawn at random: common words as often as texts have them, or any."""
    rng = np.random.default_rng(seed)
    shares = SHARES[:rarest] / SHARES[:rarest].sum()
    return [
        (
            rng.normal(size=DIMENSIONS).tolist(),
            " ".join(rng.choice(VOCABULARY[:rarest], size=words, p=shares if n % 2 else None)),
        )
        for n in range(number)
    ]


def found_by(
    repo: MemoryRepository, query: Any, words: str | None, /, *, agent: str = BIG, **asked: Any
) -> Hits:
    usual: dict[str, Any] = {"profile": "hybrid", "as_of": SOON, "touch": False}
    usual["strategy"] = "index"
    return repo.search(agent, query, keywords=words, **(usual | asked))


def both(
    repo: MemoryRepository, query: Any, words: str | None, /, **asked: Any
) -> tuple[Hits, Hits]:
    found = found_by(repo, query, words, **asked)
    exact = found_by(repo, query, words, **(asked | {"strategy": "exact"}))
    assert exact.strategy == "exact"
    assert len(found) == len(exact)
    assert list(found) == sorted(found, key=lambda hit: (-hit.score, hit.memory.id))
    return found, exact


def recall(found: Hits, exact: Hits, *, same: bool = True) -> float:
    """What both have found they score alike, if their words weigh the same."""
    known = {hit.memory.id: hit for hit in exact}
    shared = [hit for hit in found if hit.memory.id in known]
    for hit in shared if same else ():
        assert hit.signals == pytest.approx(known[hit.memory.id].signals, abs=EXACT)
        assert hit.score == pytest.approx(known[hit.memory.id].score, abs=EXACT)
    return len(shared) / len(found) if found else 1.0


def share(query: str, content: str, counts: Mapping[str, int], total: int) -> float:
    """The keyword signal, in Python alone."""
    asked = set(query.split())
    weight = {
        term: math.log(1 + (total - counts.get(term, 0) + 0.5) / (counts.get(term, 0) + 0.5))
        for term in asked
    }
    had = asked & set(content.split())
    return math.fsum(weight[term] for term in had) / math.fsum(weight.values())


def counted(contents: Sequence[str]) -> Counter[str]:
    return Counter(word for content in contents for word in set(content.split()))


def assert_found(
    repo: MemoryRepository, asked_for: Sequence[Any], least: float, **asked: Any
) -> None:
    shares = []
    for query, text in asked_for:
        found, exact = both(repo, query, text, **asked)
        assert found.strategy == "index"
        shares.append(recall(found, exact))
    assert fmean(shares) >= least, asked


def test_random_questions_find_nearly_the_exact_answer(whole: MemoryRepository) -> None:
    for words, rarest in ((1, 600), (3, 600), (10, 600), (2, 15), (6, 15)):
        asked_for = queries(6, 100 * words + rarest, words=words, rarest=rarest)
        assert_found(whole, asked_for, 0.98)
    mixed = {"keyword": 0.6, "similarity": 0.1, "recency": 0.15, "importance": 0.15}
    for weights in (*({"keyword": w, "similarity": 1 - w} for w in (0.9, 0.5, 0.05)), mixed):
        assert_found(whole, queries(5, 5, words=3), 0.95, weights=weights)


def test_memories_with_the_names_asked_for_are_among_the_candidates(
    whole: MemoryRepository,
) -> None:
    """Neither positions nor words contain names, whether given or found in the text."""
    weights = {"importance": 0.7, "keyword": 0.1, "similarity": 0.1, "entity_overlap": 0.1}
    asked_for = queries(12, 77, words=3)
    assert_found(whole, asked_for, 0.98, weights=weights, entities=["N1"])
    named = [(query, f"{text} N1") for query, text in asked_for]
    assert_found(whole, named, 0.98, weights=weights)


def test_a_rare_name_finds_its_memory_at_any_cosine(undone: MemoryRepository, agent: str) -> None:
    """The only one of 600 that has it, written before the build or after it."""
    query = [1.0, *[0.0] * (DIMENSIONS - 1)]
    named = {
        f"{NAME}{since}{place}": NewMemory(
            f"{NAME}{since}{place} q0x",
            embedding=[cosine, (1 - cosine**2) ** 0.5, *[0.0] * (DIMENSIONS - 2)],
            importance=0.0,
        )
        for since in ("before", "after")
        for place, cosine in enumerate((1.0, 0.0, -1.0))
    }
    undone.add_many(agent, memories(BIG, 600))
    ids = {name: undone.add(agent, new) for name, new in named.items() if "before" in name}
    build(undone, agent)
    ids |= {name: undone.add(agent, new) for name, new in named.items() if "after" in name}

    weights = {"keyword": 0.6, "similarity": 0.4}
    for name, id_ in ids.items():
        found, exact = both(undone, query, name, agent=agent, weights=weights)

        assert found.strategy == "index"
        assert found[0].memory.id == exact[0].memory.id == id_, name
        assert found[0].signals["keyword"] == 1.0
        assert recall(found, exact) >= 0.9


@pytest.mark.parametrize("deleted", [0, 300], ids=lambda number: f"{number}_deleted")
def test_a_word_of_many_is_found_far_away_whatever_was_deleted(
    undone: MemoryRepository, agent: str, deleted: int
) -> None:
    """Too many have it to look them all up before the walk, which meets none; 300 are all it
    meets."""
    rng = np.random.default_rng(31)
    query = [1.0, *[0.0] * (DIMENSIONS - 1)]

    def around(cosine: float) -> list[float]:
        rest = rng.normal(size=DIMENSIONS - 1)
        rest *= (1 - cosine**2) ** 0.5 / np.linalg.norm(rest)
        return [cosine, *rest.tolist()]

    def fill(number: int, word: str, low: float, high: float) -> list[UUID]:
        return list(
            undone.add_many(
                agent,
                [
                    NewMemory(f"{word} {low} {n}", embedding=around(rng.uniform(low, high)))
                    for n in range(number)
                ],
            )
        )

    nearest = fill(300, "other", 0.95, 1.0)
    fill(400, "other", 0.5, 0.9)
    fill(150, NAME, -0.2, 0.2)
    build(undone, agent)
    undone.delete(agent, nearest[:deleted])
    weights = {"keyword": 0.6, "similarity": 0.4}

    found, exact = both(undone, query, NAME, agent=agent, weights=weights)

    assert found.strategy == "index"
    assert {hit.signals["keyword"] for hit in exact} == {1.0}
    assert recall(found, exact) == 1.0


def added(repo: MemoryRepository, agent: str, number: int, content: str) -> None:
    rng = np.random.default_rng(17)
    repo.add_many(
        agent,
        [
            NewMemory(f"{content} new{n}", embedding=rng.normal(size=DIMENSIONS).tolist())
            for n in range(number)
        ],
    )


def test_noted_words_weigh_as_of_the_build_and_others_as_of_now(
    world: World, undone: MemoryRepository
) -> None:
    """And explain tells the exact weights."""
    common, rare, new = "q0x", "q500x", "newword"
    counts = counted(list(world.contents.values()))
    assert counts[common] >= COMMON > counts[rare] + 50
    added(undone, BIG, 50, f"{common} {rare} {new}")
    query = queries(1, 18, words=1)[0][0]
    text = f"{common} {rare} {new}"

    found, exact = both(undone, query, text, k=70)  # more than have all of them

    mixed = counts + Counter({rare: 50, new: 50})
    now = mixed + Counter({common: 50})
    assert found.strategy == "index"
    assert found[-1].signals["keyword"] < 1
    for hits, n, total in ((found, mixed, SIZE), (exact, now, SIZE + 50)):
        for hit in hits:
            expected = share(text, hit.memory.content, n, total)
            assert hit.signals["keyword"] == pytest.approx(expected, abs=EXACT)
    why = undone.explain(
        BIG, found[-1].memory.id, query, profile="hybrid", keywords=text, as_of=SOON
    )
    assert {term.term: term.memories for term in why.terms} == {
        term: now[term] for term in text.split()
    }
    value = next(signal.value for signal in why.signals if signal.name == "keyword")
    assert value == pytest.approx(share(text, found[-1].memory.content, now, SIZE + 50), abs=EXACT)


def test_what_was_written_changed_and_deleted_since_is_known(undone: MemoryRepository) -> None:
    query = [0.0, 1.0, *[0.0] * (DIMENSIONS - 2)]
    weights = {"keyword": 0.8, "similarity": 0.2}
    away = [-x for x in query]
    first, second, third = (
        undone.add(BIG, NewMemory(f"{NAME} {word}", embedding=away))
        for word in ("one", "two", "three")
    )
    old = found_by(undone, query, "no77", weights=weights)[0].memory.id

    undone.update(BIG, old, content=f"{NAME} changed", embedding=away)
    undone.update(BIG, second, content="other words", embedding=away)
    undone.delete(BIG, [third])
    found, exact = both(undone, query, NAME, weights=weights)

    assert found.strategy == "index"
    having = {hit.memory.id for hit in found if hit.signals["keyword"]}
    assert having == {first, old}
    assert [hit.memory.id for hit in found[:2]] == [hit.memory.id for hit in exact[:2]]


@pytest.mark.parametrize(
    ("agent", "teams"),
    [
        ("indexed", ["indexed"]),
        ("plain", ["indexed"]),
        ("indexed", ["indexed", "plain", "nobody"]),
        (BIG, ["indexed", "plain"]),
    ],
    ids=str,
)
def test_agents_and_teams_with_and_without_an_index_weigh_words_each_for_itself(
    whole: MemoryRepository, agent: str, teams: list[str]
) -> None:
    contents = {
        "indexed": texts("indexed True", SMALL),
        "plain": texts("plain True", SMALL),
        BIG: texts(BIG, SIZE),
        "team:indexed": texts("indexed False", SMALL),
        "team:plain": texts("plain False", SMALL),
    }
    shares = []
    for query, text in queries(4, 20, words=3, rarest=60):
        theirs, _ = both(whole.teams, query, text, agent=teams[0])
        assert all(hit.memory.team_id == teams[0] for hit in theirs)
        found, exact = both(whole, query, text, agent=agent, teams=teams)
        shares.append(recall(found, exact))
        assert found.strategy == "index"
        for hit in found:
            of = contents[hit.memory.owner_id]
            expected = share(text, hit.memory.content, counted(of), len(of))
            assert hit.signals["keyword"] == pytest.approx(expected, abs=EXACT)

    assert fmean(shares) >= 0.97
