"""Floors by questions with and without an answer: counted by hand, and as searches answer."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import Evaluation, Floor, JudgedQuery, MemoryRepository, NewMemory
from pgrecall.errors import InputError
from pgrecall.evaluation.relevance_thresholds import proposed, table_of
from tests.conftest import DIMENSIONS
from tests.integration.support import NORTH, NOW, at, before, similar

AGENT, TEAM = "agent", "red"
WORDS = [f"word{n}x" for n in range(30)]


def floors_of(found: Evaluation) -> dict[float, Floor]:
    return {one.min_relevance: one for one in found.floors or ()}


def test_floors_counted_by_hand(engine: Engine) -> None:
    """With vectors alone, relevance is the similarity to what is asked."""
    repo = MemoryRepository(engine)
    vectors = {"high": similar(0.8), "low": similar(0.5), "turned": [0, 0, 1.0, *[0.0] * 5]}
    several = [NewMemory(text, embedding=vector) for text, vector in vectors.items()]
    high, low, turned = repo.add_many(AGENT, several)
    half = [0.0, 0.0, 0.3, 0.0, (1 - 0.3**2) ** 0.5, 0.0, 0.0, 0.0]
    queries = [
        JudgedQuery(NORTH, [high, low]),
        JudgedQuery([0, 0, 1.0, *[0.0] * 5], [turned]),
        JudgedQuery(half, []),  # its best is turned, by 0.3
        JudgedQuery(at(90), []),  # its best is low, by sqrt(1 - 0.25) = 0.866
    ]

    found = repo.evaluation.evaluate(AGENT, queries, k=2)

    floors = floors_of(found)
    expected = {
        0.0: (0.0, 0.0, None, 1.0),
        0.2: (0.0, 0.0, None, 1.0),
        0.4: (0.5, 0.0, 1.0, 1.0),
        0.6: (0.5, 0.0, 1.0, 0.75),
        0.85: (0.5, 0.5, 0.5, 0.5),
        0.9: (1.0, 0.5, 2 / 3, 0.5),
    }
    for floor, values in expected.items():
        one = floors[floor]
        assert (one.silent, one.lost, one.precision, one.recall) == values
    own = found.profiles[0].profile.min_relevance
    uneven = [floor for floor in floors if floor != own and round(floor * 100) / 100 != floor]
    assert [round(floor, 5) for floor in uneven] == [0.3, 0.86603]
    assert [floors[floor].silent for floor in uneven] == [0.5, 1.0]
    for share, floor in ((0.5, uneven[1]), (0.9, uneven[0])):
        assert proposed([*floors.values()], share) == floors[floor]
    assert found.profiles[0].overall.queries == 2
    assert found.record()["floors"][40]["silent"] == 0.5


def test_a_memory_that_gives_way_is_found_by_a_higher_floor() -> None:
    crowded = (0.9, [(0.6, 0.4)], 1)

    floors = {one.min_relevance: one for one in table_of([crowded, (1.0, [], 0)])}

    recalls = [floors[floor].recall for floor in (0, 0.4, 0.41, 0.6, 0.61)]
    assert recalls == [0, 0, 1, 1, 0]
    assert [floors[floor].lost for floor in (0.9, 0.91)] == [0, 1]
    assert proposed([*floors.values()], 0.5) is None
    [nobody, *_] = table_of([crowded, (None, [], 0)])
    assert (nobody.min_relevance, nobody.silent) == (0, 1)


@pytest.fixture(scope="module")
def world(module_engine: Engine) -> tuple[MemoryRepository, list[JudgedQuery]]:
    dice = random.Random("floors")

    def memory(number: int) -> NewMemory:
        return NewMemory(
            " ".join(dice.choices(WORDS, k=dice.randint(1, 9))) + f" no{number}x",
            embedding=[dice.gauss(0.4, 1) for _ in range(DIMENSIONS)],
            created_at=before(dice.uniform(1, 100)),
            importance=dice.random(),
            entities=dice.sample(["Ann", "Bob"], dice.randint(0, 2)),
        )

    repo = MemoryRepository(module_engine)
    ids = [
        *repo.add_many(AGENT, [memory(n) for n in range(150)]),
        *repo.teams.add_many(TEAM, [memory(n) for n in range(50)]),
    ]
    queries = [
        JudgedQuery(
            [dice.gauss(0.4, 1) for _ in range(DIMENSIONS)],
            dice.sample(ids, 0 if number % 3 == 0 else dice.randint(1, 3)),
            query_text=" ".join([*dice.choices(WORDS, k=3), "nobodyhasit"]),
            as_of=None if number % 2 else before(20),
        )
        for number in range(18)
    ]
    return repo, queries


@pytest.mark.parametrize(
    ("profile", "given"),
    [("hybrid", {}), ("five_factor", {"min_score": 0.4}), ("tiered", {"entities": ["Ann"]})],
)
def test_floors_are_what_searches_with_them_return(
    world: tuple[MemoryRepository, list[JudgedQuery]], profile: str, given: dict[str, Any]
) -> None:
    repo, queries = world
    everything: dict[str, Any] = {"teams": [TEAM], **given}
    found = repo.evaluation.evaluate(
        AGENT, queries, profiles=[profile], k=5, as_of=NOW, **everything
    )

    for floor in (0.0, 0.2, 0.35, 0.5, 0.7):
        silent, lost, recalls = 0, 0, []
        for query in queries:
            hits = repo.search(
                *(AGENT, query.query),
                query_text=query.query_text,
                k=5,
                profile=profile,
                as_of=query.as_of or NOW,
                min_relevance=floor,
                touch=False,
                **everything,
            )
            relevant = set(query.relevant)
            if not relevant:
                silent += not hits
                continue
            lost += not hits
            recalls.append(len(relevant & {hit.memory.id for hit in hits}) / len(relevant))
        one = floors_of(found)[floor]
        assert one.silent == silent / 6
        assert one.lost == lost / 12
        assert one.recall == pytest.approx(sum(recalls) / 12)


def test_questions_without_an_answer_alone_are_refused(
    world: tuple[MemoryRepository, list[JudgedQuery]],
) -> None:
    repo, queries = world
    with pytest.raises(InputError, match="no judged query has a relevant memory"):
        repo.evaluation.evaluate(AGENT, [queries[0]])
    assert repo.evaluation.evaluate(AGENT, [queries[1]]).floors is None


def test_a_tuning_proposes_a_floor_by_one_part_and_judges_it_by_the_other(
    world: tuple[MemoryRepository, list[JudgedQuery]], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, _ = world
    for name, value in (("BY_CHANCE", 12), ("ROUNDS_OF_EACH", 1), ("LAST_ROUNDS", 2)):
        monkeypatch.setattr(f"pgrecall.evaluation.weight_search.{name}", value)
    dice = random.Random("tuned")
    usual: dict[str, Any] = {"embedding": similar(0.9), "created_at": before(3)}
    memories = [NewMemory(f"answer {n}", importance=dice.random(), **usual) for n in range(40)]
    ids = repo.add_many("tuned", memories)
    known = [JudgedQuery(at(n / 10), [ids[n]]) for n in range(40)]
    unknown = [JudgedQuery(at(120 + n / 10), []) for n in range(10)]

    found = repo.evaluation.tune(
        "tuned", [*known, *unknown], start="five_factor", precision=0.9, as_of=NOW
    )

    assert found.training.floors is not None
    chosen = proposed(found.training.floors, 0.9)
    assert chosen is not None
    assert found.floor is not None
    assert found.floor.min_relevance == chosen.min_relevance
    assert (found.floor.silent, found.floor.lost) == (1.0, 0.0)
    if found.proposed is not None:
        assert found.proposed.min_relevance == chosen.min_relevance
    with pytest.raises(InputError, match="precision needs queries without an answer"):
        repo.evaluation.tune("tuned", [*known, unknown[0]], start="five_factor", precision=0.9)
    for bad in (0, 1.1, True):
        with pytest.raises(InputError, match="precision must be above 0 and at most 1"):
            repo.evaluation.tune("tuned", [*known, *unknown], precision=bad)
