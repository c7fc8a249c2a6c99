"""Evaluating and tuning over the memories of several owners, and beside the baselines."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import JudgedQuery, MemoryRepository, NewMemory, Profile, Tuning, profiles
from pgrecall.errors import InputError
from pgrecall.evaluation.bootstrap import intervals
from pgrecall.evaluation.results import FEWEST_OWNERS, METRICS
from pgrecall.scoring.signals import Importance, Keyword, Recency, Similarity, Usefulness
from tests.integration.owner import north
from tests.integration.support import NORTH, NOW, before
from tests.integration.test_tune import TEMPORARY, answered, vector

AGENTS = [f"agent-{number}" for number in range(6)]
WORDS = ("tea", "milk", "harbour", "piano", "winter", "ticket", "garden", "engine", "doctor")
MEANING, _, _ = profiles.BASELINES
WEIGHT = Profile("weight", {Importance(): 1.0})
START = Profile("start", {Similarity(): 0.2, Importance(): 0.8})
PLANTED = START.with_weights(similarity=0.8, importance=0.2)


@dataclass(frozen=True)
class World:
    engine: Engine
    repo: MemoryRepository
    ids: dict[str, list[UUID]]
    queries: list[JudgedQuery]
    """Of all agents in turn, answered by what PLANTED ranks first; each owner is a group."""


@pytest.fixture(scope="module")
def world(module_engine: Engine) -> World:
    dice = random.Random("owners")
    repo = MemoryRepository(module_engine)

    def memory(agent: str, number: int) -> NewMemory:
        return NewMemory(
            " ".join([agent, f"{number}", *dice.sample(WORDS, 3)]),
            embedding=vector(dice),
            importance=dice.random(),
            created_at=before(dice.uniform(0, 90)),
        )

    ids = {
        agent: list[UUID](repo.add_many(agent, [memory(agent, n) for n in range(40)]))
        for agent in AGENTS
    }
    queries = []
    for agent in AGENTS * 4:
        asked = JudgedQuery(vector(dice), (), agent_id=agent, group=agent)
        queries.append(answered(repo, PLANTED, asked, agent, k=3))
    return World(module_engine, repo, ids, queries)


# Whose memories


def test_each_query_is_ranked_among_its_own_owners_memories(world: World) -> None:
    asked: dict[str, Any] = {"profiles": [START, PLANTED], "as_of": NOW, "k": 3}
    together = world.repo.evaluation.evaluate(None, world.queries, **asked)

    for agent in AGENTS:
        places = [place for place, query in enumerate(world.queries) if query.agent_id == agent]
        own = [replace(world.queries[place], agent_id=None) for place in places]
        alone = world.repo.evaluation.evaluate(agent, own, **asked)
        for one, its in zip(together.compared, alone.compared, strict=True):
            for name in METRICS:
                values = [one.per_query[name][place] for place in places]
                assert values == pytest.approx(its.per_query[name], rel=1e-12)
    assert together.missing == 0
    assert together.profiles[1].overall.means == dict.fromkeys(METRICS, 1.0)


def test_what_names_no_owner_is_about_the_agent_given(world: World) -> None:
    one, other = AGENTS[:2]
    unnamed = JudgedQuery(NORTH, world.ids[one][:1])
    named = JudgedQuery(NORTH, world.ids[other][:1], agent_id=other)

    def missing(agent: str | None, *agents: str) -> int:
        return world.repo.evaluation.evaluate(agent, [unnamed, named], agents=agents).missing

    assert missing(one, other) == missing(one, one, other) == 0
    assert world.repo.evaluation.evaluate(None, [unnamed], agents=[one]).missing == 0
    assert world.repo.evaluation.evaluate(None, [unnamed], agents=[other]).missing == 1


def test_teams_are_ranked_with_each_owner(shared_repo: MemoryRepository, agent: str) -> None:
    """Of a team that evaluates others its own memories count once."""
    teams = [f"{agent} {name}" for name in ("red", "blue")]
    ids = {team: shared_repo.teams.add(team, north(team)) for team in teams}
    queries = [JudgedQuery(NORTH, [ids[label]], agent_id=team) for team in teams for label in teams]

    evaluate = shared_repo.teams.evaluation.evaluate

    alone = evaluate(None, queries, profiles=[MEANING])
    together = evaluate(None, queries, profiles=[MEANING], teams=teams[:1])

    assert alone.missing == 2
    assert together.missing == 1
    assert together.profiles[0].per_query["mrr"][1] == 0.0


BAD: list[tuple[str | None, Any, list[str | None], str]] = [
    (None, None, [None], r"query 0 has no agent_id"),
    (None, ["a", "b"], ["a", None], r"query 1 has no agent_id"),
    ("a", None, [None, "b"], r"query 1 is about the memories of 'b', which is neither"),
    (None, ["a"], ["b"], r"query 0 is about the memories of 'b', which is neither"),
    ("a", [], ["team:b"], r"query 0: agent_id must not begin with 'team:'"),
    ("a", ["team:b"], [None], r"agents must not begin with 'team:'"),
    ("a", "b", [None], r"agents must be a list of texts"),
    ("a", [""], [None], r"agents must not be empty"),
    ("a", None, [""], r"query 0: agent_id must not be empty"),
    ("a", None, [5], r"query 0: agent_id must be text"),  # type: ignore[list-item]
]


def test_nobody_is_asked_who_was_not_named(world: World) -> None:
    agents: Any
    for agent, agents, named, message in BAD:
        queries = [JudgedQuery(NORTH, [UUID(int=1)], agent_id=owner) for owner in named]
        for method in (world.repo.evaluation.evaluate, world.repo.evaluation.tune):
            with pytest.raises(InputError, match=message):
                method(agent, queries, agents=agents)
    for held_out in (0.05, 0.95):
        said = rf"held_out {held_out} of 6 owners leaves the training"
        with pytest.raises(InputError, match=said):
            world.repo.evaluation.tune(None, world.queries, start=START, held_out=held_out)


# Intervals


def test_from_five_owners_on_intervals_are_over_owners(world: World) -> None:
    for number, over in ((FEWEST_OWNERS, "owners"), (FEWEST_OWNERS - 1, "queries")):
        several = [q for q in world.queries if q.agent_id in AGENTS[:number]]
        found = world.repo.evaluation.evaluate(
            None, several, profiles=[PLANTED, WEIGHT], as_of=NOW, seed=7
        )

        first, second = (one.per_query["ndcg"] for one in found.profiles)
        scores = found.profiles[1].overall
        owners = [query.agent_id for query in several] if over == "owners" else None
        sample = [b - a for a, b in zip(first, second, strict=True)]
        [interval] = intervals([sample], 7, owners=owners)
        assert (scores.differences["ndcg"].low, scores.differences["ndcg"].high) == interval
        assert (scores.owners, scores.intervals_over) == (number, over)
        record = found.record()["baselines"][0]
        assert (record["owners"], record["intervals_over"]) == (number, over)
        of_group = record["by_group"][AGENTS[0]]
        assert (of_group["owners"], of_group["intervals_over"]) == (1, "queries")


# Baselines


def test_what_is_asked_is_measured_beside_the_baselines(world: World) -> None:
    label = world.ids[AGENTS[0]][:1]
    both = [JudgedQuery(NORTH, label, query_text="tea")]
    vectors, texts = [JudgedQuery(NORTH, label)], [JudgedQuery(None, label, query_text="tea")]
    meaning, words, _ = (Profile("mine", baseline.signals) for baseline in profiles.BASELINES)
    every = ["similarity alone", "keyword alone", "hybrid"]
    cases: tuple[tuple[list[JudgedQuery], list[Any], list[str]], ...] = (
        (both, ["trust"], every),
        (both, ["trust", "hybrid"], every[:2]),
        (both, [meaning, words, "hybrid"], []),
        (vectors, ["trust"], [every[0], every[2]]),
        (texts, ["trust"], every[1:]),
        ([*vectors, *texts], ["trust"], every),
    )
    for queries, asked, beside in cases:
        found = world.repo.evaluation.evaluate(AGENTS[0], queries, profiles=asked)
        assert [one.profile.name for one in found.baselines] == beside


# Tuning


def test_what_is_planted_in_all_owners_is_found_again_and_none_is_in_both_parts(
    world: World,
) -> None:
    with world.engine.connect() as connection:
        repo = MemoryRepository(connection)
        found = repo.evaluation.tune(None, world.queries, start=START, as_of=NOW)
        assert connection.exec_driver_sql(TEMPORARY).all() == []
        connection.rollback()

    assert found.found.weights == pytest.approx(PLANTED.weights, abs=0.1)
    assert found.held_out.profiles[1].overall.means["ndcg"] > 0.95
    assert found.proposed == found.found
    sides = [part.profiles[0].by_group.keys() for part in (found.training, found.held_out)]
    assert [len(side) for side in sides] == [3, 3]
    assert not sides[0] & sides[1]
    assert (found.questions, found.held_out.profiles[0].overall.owners) == (12, 3)


def test_one_question_to_two_owners_is_two_questions(world: World) -> None:
    queries = [
        replace(world.queries[0], query=[*NORTH[:-1], number], agent_id=agent)
        for number in range(5)
        for agent in AGENTS[:2]
    ]

    found = world.repo.evaluation.tune(None, queries, start=START, as_of=NOW)

    assert found.questions == 5
    with pytest.raises(InputError, match=r"got 5 different ones among 10"):
        world.repo.evaluation.tune(
            AGENTS[0], [replace(q, agent_id=None) for q in queries], start=START
        )


def test_what_does_worse_than_a_baseline_is_not_proposed(world: World) -> None:
    """Neither recency nor importance can do what similarity does."""
    start = Profile("start", {Recency(half_life=30): 0.9, Importance(): 0.1})

    found = world.repo.evaluation.tune(None, world.queries, start=start, as_of=NOW)

    assert found.difference.mean > 0
    best = max(found.held_out.baselines, key=lambda one: one.overall.means["ndcg"])
    assert found.better_baseline == best
    assert found.verdict == f"better than its start, but worse than {best.profile.name}"
    assert found.proposed is None
    assert found.record()["verdict"] == found.verdict
    assert found.record()["proposed"] is False


def test_words_are_brought_in_where_they_tell(world: World) -> None:
    """Words that say much of which memory answers."""
    dice = random.Random("words")
    planted = Profile("p", {Similarity(): 0.3, Keyword(): 0.6, Importance(): 0.1})
    texts = [" ".join(dice.sample(WORDS, 3)) for _ in range(24)]
    asked = [JudgedQuery(vector(dice), (), query_text=text) for text in texts]
    queries = [answered(world.repo, planted, query, AGENTS[0], k=3) for query in asked]

    def tuned(start: Profile, number: int = 12) -> Tuning:
        return world.repo.evaluation.tune(AGENTS[0], queries[:number], start=start, as_of=NOW)

    found = tuned(Profile("start", {Similarity(): 0.6, Importance(): 0.4}), 24)
    assert list(found.found.weights) == ["similarity", "importance", "keyword"]
    assert 0.4 < found.found.weights["keyword"] < 0.8
    assert list(found.start.weights) == ["similarity", "importance"]
    assert found.proposed == found.found
    assert tuned(MEANING.renamed("meaning")).found.weights["keyword"] > 0.2
    # A profile with words gets no second signal of them.
    start = Profile("start", {Keyword(b=0.5): 0.5, Similarity(): 0.3, Usefulness(): 0.2})
    assert [*tuned(start).found.signals] == [*start.signals]


def test_words_that_tell_nothing_are_left_out_again(world: World) -> None:
    """The memories that have them are labelled by meaning alone."""
    queries = [
        replace(query, query_text=" ".join(WORDS[place % 7 : place % 7 + 2]))
        for place, query in enumerate(world.queries)
    ]

    found = world.repo.evaluation.tune(None, queries, start=PLANTED, as_of=NOW)

    assert list(found.found.weights) == ["similarity", "importance"]
    assert sum(found.found.weights.values()) == pytest.approx(1)
