"""Tuning: what a planted profile labels is found again, and nothing is proposed without reason;
also over the memories of several owners, which are evaluated together, beside the baselines."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import Decay, JudgedQuery, MemoryRepository, NewMemory, Profile, Tuning, profiles
from pgrecall.errors import InputError, InvalidVector, UnknownName
from pgrecall.evaluation.bootstrap import intervals
from pgrecall.evaluation.results import FEWEST_OWNERS, METRICS, Difference
from pgrecall.evaluation.tuned import FEWEST
from pgrecall.scoring.signals import (
    Confidence,
    EntityOverlap,
    Frequency,
    Importance,
    Recency,
    Similarity,
    Time,
    Trust,
    Usefulness,
)
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, NOW, at, before, sql

AGENT = "agent"
UNKNOWN = UUID("00000000-0000-7000-8000-000000000000")
TEMPORARY = "SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'"


@dataclass(frozen=True)
class World:
    engine: Engine
    repo: MemoryRepository
    ids: list[UUID]


def vector(dice: random.Random) -> list[float]:
    return [dice.gauss(0.3, 1) for _ in range(DIMENSIONS)]


@pytest.fixture(scope="module")
def world(module_engine: Engine) -> World:
    """50 memories of which trust, frequency and entities are alike."""
    dice = random.Random("tune")

    def memory(number: int) -> NewMemory:
        return NewMemory(
            f"memory {number}",
            embedding=vector(dice),
            importance=dice.random(),
            usefulness=dice.random(),
            confidence=dice.random(),
            trust=0.5,
            tier=dice.choice(["short", "medium", "long"]),
            expires_at=None,
            created_at=before(dice.uniform(0, 120)),
            tags=["old"] if number % 2 else [],
        )

    repo = MemoryRepository(module_engine)
    return World(module_engine, repo, [*repo.add_many(AGENT, [memory(n) for n in range(50)])])


def answered(
    repo: MemoryRepository, planted: Profile, query: JudgedQuery, owner: str = AGENT, **more: Any
) -> JudgedQuery:
    """A query whose answer is what this profile ranks first."""
    asked = dict[str, Any](k=4, profile=planted, as_of=query.as_of or NOW, touch=False) | more
    said: dict[str, Any] = {"keywords": query.keywords, "period": query.period}
    hits = repo.search(owner, query.query, strategy="exact", **asked, **said)
    return replace(query, relevant=[hit.memory.id for hit in hits])


def labelled_by(
    repo: MemoryRepository, planted: Profile, number: int, **more: Any
) -> list[JudgedQuery]:
    dice = random.Random("queries")
    queries = [JudgedQuery(vector(dice), ()) for _ in range(number)]
    return [answered(repo, planted, query, **more) for query in queries]


def tuned(world: World, queries: Sequence[JudgedQuery], start: Profile, **more: Any) -> Tuning:
    return world.repo.evaluation.tune(AGENT, queries, start=start, **{"as_of": NOW, **more})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short search, where it does not matter how good what it finds is."""
    for name, value in (("BY_CHANCE", 12), ("ROUNDS_OF_EACH", 1), ("LAST_ROUNDS", 2)):
        monkeypatch.setattr(f"pgrecall.evaluation.weight_search.{name}", value)


quickly = pytest.mark.usefixtures("quick")

START = Profile("start", {Similarity(): 0.2, Usefulness(): 0.2, Importance(): 0.6})
PLANTED = START.with_weights(similarity=0.5, usefulness=0.2, importance=0.3).renamed("planted")


@pytest.fixture(scope="module")
def queries(world: World) -> list[JudgedQuery]:
    return labelled_by(world.repo, PLANTED, 60)


def test_planted_weights_are_found_again_and_the_record_says_all_in_plain_values(
    world: World, queries: list[JudgedQuery]
) -> None:
    found = tuned(world, queries, START, seed=5)

    assert found.found.weights == pytest.approx(PLANTED.weights, abs=0.06)
    assert (found.verdict, found.proposed) == ("better", found.found)
    assert found.difference.low > 0
    assert [one.profile for one in found.held_out.profiles] == [START, found.found]
    assert found.held_out.profiles[1].overall.means["ndcg"] > 0.9
    record = found.record()
    assert list(record) == ["verdict", "summary", "proposed", "start", "found", "held_out"]
    assert (record["verdict"], record["proposed"]) == ("better", record["found"])
    assert record["found"]["name"] == found.found.name == "start_tuned"
    assert record["found"]["signals"]["similarity"]["weight"] == found.found.weights["similarity"]
    assert record["held_out"]["profiles"][1]["queries"] == 60
    assert all(weight == round(weight, 3) for weight in found.found.weights.values())


def test_weights_are_chosen_for_scores_after_the_decay(world: World) -> None:
    decay = Decay(Recency(half_life=10), floor=0.1)
    start, planted = replace(START, decay=decay), replace(PLANTED, decay=decay)

    found = tuned(world, labelled_by(world.repo, planted, 60), start, seed=5)

    assert found.found.weights == pytest.approx(planted.weights, abs=0.06)
    assert found.found.decay == decay
    assert found.held_out.profiles[1].overall.means["ndcg"] > 0.9


@quickly
def test_nothing_is_proposed_where_the_start_is_the_truth(world: World) -> None:
    found = tuned(world, labelled_by(world.repo, START, 24), START)

    assert found.found == START.renamed("start_tuned")
    assert (found.verdict, found.proposed) == ("no better", None)
    assert found.difference.mean == 0
    assert found.held_out.profiles[0].overall.means == dict.fromkeys(METRICS, 1.0)


@quickly
def test_few_queries_are_thin_evidence_and_the_same_seed_finds_the_same(
    world: World, queries: list[JudgedQuery]
) -> None:
    few, other = (tuned(world, queries[:12], START, seed=seed) for seed in (0, 4))
    again = tuned(world, queries[:12], START, k=np.int64(10), seed=np.int64(0))

    assert few.held_out.profiles[1].overall.queries == few.questions == 12 < FEWEST
    assert few.difference.low > 0
    assert (few.verdict, few.proposed) == ("thin", few.found)
    assert few == again
    assert few.held_out != other.held_out
    assert json.loads(json.dumps(again.record())) == again.record()


@quickly
def test_every_query_is_held_out_once_and_ranked_as_a_search_ranks_it(
    world: World, queries: list[JudgedQuery]
) -> None:
    """With folds of one query, each is ranked by what the others find."""
    asked = queries[:12]
    found = tuned(world, asked, START, folds=12, k=3)
    without_first = tuned(world, asked[1:], START, k=3)

    assert found.held_out.k == 3
    assert found.held_out.profiles[1].overall.queries == 12
    alone = world.repo.evaluation.evaluate(
        AGENT, asked[:1], profiles=[without_first.found], k=3, as_of=NOW
    )
    for name in METRICS:
        [value] = alone.profiles[0].per_query[name]
        assert found.held_out.profiles[1].per_query[name][0] == value


@quickly
def test_time_may_come_in_where_it_had_no_weight(world: World) -> None:
    dice = random.Random("periods")
    start = Profile("start", {Similarity(): 1.0, Time(): 0.0})
    planted = start.with_weights(similarity=0.3, time=0.7)
    periods = [(before(days + 5), before(days)) for days in range(10, 100, 8)]
    asked = [JudgedQuery(vector(dice), (), period=period) for period in periods]
    queries = [answered(world.repo, planted, query, k=3) for query in asked]

    assert tuned(world, queries, start).found.weights["time"] > 0.2


@quickly
def test_filters_narrow_what_is_tuned_by(world: World) -> None:
    queries = labelled_by(world.repo, PLANTED, 24, filter={"tags": "old"})

    by_name = tuned(world, queries, START, filter={"tags": "old"})
    by_sql = tuned(world, queries, START, filter=world.repo.memories.c.tags.contains(["old"]))

    assert by_name.held_out.profiles[1].overall.means["ndcg"] > 0.9
    assert tuned(world, queries, START).held_out.profiles[1].overall.means["ndcg"] < 0.8
    assert by_sql.found == by_name.found


@quickly
def test_signals_that_tell_nothing_apart_keep_their_weights_to_the_bit(
    world: World, queries: list[JudgedQuery]
) -> None:
    alike = {Frequency(): 1 / 6, Trust(): 1 / 6, EntityOverlap(): 1 / 6}
    others = {Similarity(): 0.1, Usefulness(): 0.1, Importance(): 0.2, Confidence(): 0.1}
    half = Profile("half", others | alike)
    largest = Profile("largest", {Trust(): 0.5, Similarity(): 0.1, Importance(): 0.4})
    for start, frozen in ((half, {"frequency", "trust", "entity_overlap"}), (largest, {"trust"})):
        found = tuned(world, queries[:12], start).found
        kept = {name for name, weight in found.weights.items() if weight == start.weights.get(name)}
        assert kept == frozen


@quickly
def test_a_relevant_memory_is_compared_however_far_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if no other is read: the more useful of two is to come first."""
    for name in ("MAX_PAIRS", "FEWEST_PAIRS"):
        monkeypatch.setattr(f"pgrecall.evaluation.pairs.{name}", 0)
    dice = random.Random("behind")
    known = world.repo.get_many(AGENT, world.ids).values()
    worth = {memory.id: memory.usefulness for memory in known}
    queries = [
        JudgedQuery(vector(dice), {id_: worth[id_] for id_ in dice.sample(world.ids, 2)})
        for _ in range(20)
    ]

    assert tuned(world, queries, START).found.weights["usefulness"] > 0.5


@quickly
def test_memories_of_teams_are_tuned_by_too(mine: Owner) -> None:
    dice = random.Random("teams")
    new = [NewMemory(f"{n}", embedding=vector(dice), importance=dice.random()) for n in range(60)]
    mine.team.add_many(new)
    queries = labelled_by(mine.repo.teams, PLANTED, 20, owner=mine.name, as_of=None)

    with_team = mine.evaluation.tune(queries, start=START, teams=[mine.name])
    of_team = mine.team.evaluation.tune(queries, start=START)

    assert with_team == of_team
    assert with_team.found.weights != START.weights


def test_progress_is_told_to_its_end_and_nothing_is_written_or_counted(
    world: World, queries: list[JudgedQuery]
) -> None:
    """Not even a temporary table, so a replica will do."""
    told: list[tuple[int, int]] = []
    with world.engine.connect() as connection:
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        repo = MemoryRepository(connection)
        one, again = (
            repo.evaluation.tune(
                *(AGENT, queries[:12]),
                start=START,
                as_of=NOW,
                folds=3,
                on_progress=lambda done, of: told.append((done, of)),
            )
            for _ in range(2)
        )

    assert told == [(done, 6) for done in range(1, 7)] * 2
    assert one == again
    assert sql(world.engine, "SELECT * FROM pgrecall.memory_usage") == []


class Enough(Exception):
    pass


async def told(done: int, of: int) -> None:
    pass


def test_what_on_progress_raises_leaves_a_transaction_usable_and_it_cannot_be_awaited(
    world: World, queries: list[JudgedQuery]
) -> None:
    def stop(*_: int) -> None:
        raise Enough

    with world.engine.connect() as connection:
        repo = MemoryRepository(connection)
        with pytest.raises(Enough):
            repo.evaluation.tune(AGENT, queries[:12], start=START, as_of=NOW, on_progress=stop)
        repo.evaluation.evaluate(AGENT, queries[:1], as_of=NOW)
        connection.rollback()
    for on_progress in (told, lambda *n: told(*n)):
        with pytest.raises(InputError, match="cannot be awaited; pass a plain function"):
            tuned(world, queries[:12], START, on_progress=on_progress)
        with pytest.raises(InputError, match="on_progress of evaluate is called within"):
            world.repo.evaluation.evaluate(AGENT, queries[:1], as_of=NOW, on_progress=on_progress)


GOOD = JudgedQuery(NORTH, [UNKNOWN])
TEN = [replace(GOOD, query=at(number)) for number in range(10)]

BAD: list[tuple[dict[str, Any], type[InputError], str]] = [
    ({"queries": TEN[:9]}, InputError, r"at least 10 judged queries, got 9"),
    ({"queries": TEN[:9] * 4}, InputError, r"at least 10 .* got 9 different ones among 36"),
    ({"queries": [replace(GOOD, relevant=())]}, InputError, r"no judged query has a relevant m"),
    ({"queries": [*TEN, replace(GOOD, query=[1.0])]}, InvalidVector, r"query 10: "),
    ({"start": "six_factor"}, UnknownName, r"six_factor.*five_factor"),
    ({"folds": 1}, InputError, r"folds must lie within 2"),
    ({"precision": 0.9}, UnknownName, r"precision"),
    ({"min_score": 0.5}, UnknownName, r"min_score.*include_inactive"),
    ({"on_progress": 5}, InputError, r"on_progress"),
]


def test_what_cannot_be_tuned_is_refused_and_leaves_nothing(world: World) -> None:
    with world.engine.connect() as connection:
        repo = MemoryRepository(connection)
        for arguments, error, message in BAD:
            given = {"agent_id": AGENT, "queries": TEN, "start": START, **arguments}
            with pytest.raises(error, match=message) as caught:
                repo.evaluation.tune(given.pop("agent_id"), given.pop("queries"), **given)
            assert type(caught.value) is error
        repo.evaluation.evaluate(AGENT, [GOOD])
        connection.rollback()


# Several owners


AGENTS = [f"agent-{number}" for number in range(6)]
WORDS = ("tea", "milk", "harbour", "piano", "winter", "ticket", "garden", "engine", "doctor")
ALIKE, _, _ = profiles.BASELINES
WEIGHT = Profile("weight", {Importance(): 1.0})
OF_OWNERS = Profile("start", {Similarity(): 0.2, Importance(): 0.8})
PLANTED_IN_ALL = OF_OWNERS.with_weights(similarity=0.8, importance=0.2)


@dataclass(frozen=True)
class Owners:
    engine: Engine
    repo: MemoryRepository
    ids: dict[str, list[UUID]]
    queries: list[JudgedQuery]
    """Of all agents in turn, answered by what PLANTED_IN_ALL ranks first; each owner is a group."""


@pytest.fixture(scope="module")
def everybody(module_engine: Engine) -> Owners:
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
        queries.append(answered(repo, PLANTED_IN_ALL, asked, agent, k=3))
    return Owners(module_engine, repo, ids, queries)


def test_each_query_is_ranked_among_its_own_owners_memories(everybody: Owners) -> None:
    asked: dict[str, Any] = {"profiles": [OF_OWNERS, PLANTED_IN_ALL], "as_of": NOW, "k": 3}
    together = everybody.repo.evaluation.evaluate(None, everybody.queries, **asked)

    for agent in AGENTS:
        places = [place for place, query in enumerate(everybody.queries) if query.agent_id == agent]
        own = [replace(everybody.queries[place], agent_id=None) for place in places]
        alone = everybody.repo.evaluation.evaluate(agent, own, **asked)
        for one, its in zip(together.compared, alone.compared, strict=True):
            for name in METRICS:
                values = [one.per_query[name][place] for place in places]
                assert values == pytest.approx(its.per_query[name], rel=1e-12)
    assert together.missing == 0
    assert together.profiles[1].overall.means == dict.fromkeys(METRICS, 1.0)


def test_what_names_no_owner_is_about_the_agent_given(everybody: Owners) -> None:
    one, other = AGENTS[:2]
    unnamed = JudgedQuery(NORTH, everybody.ids[one][:1])
    named = JudgedQuery(NORTH, everybody.ids[other][:1], agent_id=other)

    def missing(agent: str | None, *agents: str) -> int:
        return everybody.repo.evaluation.evaluate(agent, [unnamed, named], agents=agents).missing

    assert missing(one, other) == missing(one, one, other) == 0
    assert everybody.repo.evaluation.evaluate(None, [unnamed], agents=[one]).missing == 0
    assert everybody.repo.evaluation.evaluate(None, [unnamed], agents=[other]).missing == 1


def test_teams_are_ranked_with_each_owner(shared_repo: MemoryRepository, agent: str) -> None:
    """Of a team that evaluates others its own memories count once."""
    teams = [f"{agent} {name}" for name in ("red", "blue")]
    ids = {team: shared_repo.teams.add(team, north(team)) for team in teams}
    queries = [JudgedQuery(NORTH, [ids[label]], agent_id=team) for team in teams for label in teams]

    evaluate = shared_repo.teams.evaluation.evaluate

    alone = evaluate(None, queries, profiles=[ALIKE])
    together = evaluate(None, queries, profiles=[ALIKE], teams=teams[:1])

    assert alone.missing == 2
    assert together.missing == 1
    assert together.profiles[0].per_query["mrr"][1] == 0.0


UNNAMED: list[tuple[str | None, Any, list[str | None], str]] = [
    (None, None, [None], r"query 0 has no agent_id"),
    (None, ["a", "b"], ["a", None], r"query 1 has no agent_id"),
    ("a", None, [None, "b"], r"query 1 is about the memories of 'b', which is neither"),
    (None, ["a"], ["b"], r"query 0 is about the memories of 'b', which is neither"),
    ("a", ["team:b"], [None], r"agents must not begin with 'team:'"),
    ("a", "b", [None], r"agents must be a list of texts"),
]


def test_nobody_is_asked_who_was_not_named(everybody: Owners) -> None:
    agents: Any
    for agent, agents, named, message in UNNAMED:
        queries = [JudgedQuery(NORTH, [UUID(int=1)], agent_id=owner) for owner in named]
        for method in (everybody.repo.evaluation.evaluate, everybody.repo.evaluation.tune):
            with pytest.raises(InputError, match=message):
                method(agent, queries, agents=agents)


def test_from_five_owners_on_intervals_are_over_owners(everybody: Owners) -> None:
    for number, over in ((FEWEST_OWNERS, "owners"), (FEWEST_OWNERS - 1, "queries")):
        several = [q for q in everybody.queries if q.agent_id in AGENTS[:number]]
        found = everybody.repo.evaluation.evaluate(
            None, several, profiles=[PLANTED_IN_ALL, WEIGHT], as_of=NOW, seed=7
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


def test_what_is_asked_is_measured_beside_the_baselines(everybody: Owners) -> None:
    label = everybody.ids[AGENTS[0]][:1]
    both = [JudgedQuery(NORTH, label, keywords="tea")]
    vectors, texts = [JudgedQuery(NORTH, label)], [JudgedQuery(None, label, keywords="tea")]
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
        found = everybody.repo.evaluation.evaluate(AGENTS[0], queries, profiles=asked)
        assert [one.profile.name for one in found.baselines] == beside


def test_what_is_planted_in_all_owners_is_found_again_and_none_is_in_both_parts(
    everybody: Owners,
) -> None:
    found = everybody.repo.evaluation.tune(None, everybody.queries, start=OF_OWNERS, as_of=NOW)

    assert found.found.weights == pytest.approx(PLANTED_IN_ALL.weights, abs=0.1)
    assert found.held_out.profiles[1].overall.means["ndcg"] > 0.95
    assert found.proposed == found.found
    assert found.difference.low > 0
    assert (found.questions, found.held_out.profiles[0].overall.owners) == (24, 6)


def test_what_owners_are_judged_by_their_own_queries_did_not_choose(everybody: Owners) -> None:
    """Two owners who want opposite things find nothing for each other."""
    dice = random.Random("opposite")
    queries = []
    for agent, wanted in zip(AGENTS[:2], (ALIKE, WEIGHT), strict=True):
        for _ in range(10):
            asked = JudgedQuery(vector(dice), (), agent_id=agent, group=agent)
            queries.append(answered(everybody.repo, wanted, asked, agent, k=3))

    found = everybody.repo.evaluation.tune(None, queries, start=OF_OWNERS, as_of=NOW)

    before, after = found.held_out.profiles
    for agent in AGENTS[:2]:
        assert after.by_group[agent].means["ndcg"] < 0.6
    assert after.overall.means["ndcg"] < before.overall.means["ndcg"]
    assert (found.verdict, found.proposed) == ("no better", None)
    assert "No profile is proposed." in found.summary


def test_a_gain_that_could_be_chance_is_thin_and_a_tiny_one_is_none(everybody: Owners) -> None:
    found = everybody.repo.evaluation.tune(None, everybody.queries, start=OF_OWNERS, as_of=NOW)

    def with_gain(mean: float, low: float, questions: int) -> str:
        start, after = found.held_out.profiles
        differences = {"ndcg": Difference(mean, low, 0.5, 24)}
        overall = replace(after.overall, differences=differences)
        held_out = replace(found.held_out, profiles=(start, replace(after, overall=overall)))
        return replace(found, held_out=held_out, questions=questions).verdict

    assert with_gain(0.004, 0.001, FEWEST) == "better"
    assert with_gain(0.004, 0.001, FEWEST - 1) == "no better"
    assert with_gain(0.02, 0.01, FEWEST - 1) == "thin"
    assert with_gain(0.02, -0.01, 500) == "thin"
    assert with_gain(0.004, -0.01, 500) == "no better"
