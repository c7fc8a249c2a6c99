"""Evaluations: their ranks are those of a search, their metrics what they are said to be, and their
floors those by which searches answer."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4
from zlib import crc32

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import (
    Attribute,
    Decay,
    Evaluation,
    Floor,
    JudgedQuery,
    MemoryRepository,
    NewMemory,
    Profile,
    Rerank,
    RetentionPolicy,
    profiles,
)
from pgrecall.errors import EmbedderRequired, InputError, InvalidVector, UnknownName
from pgrecall.evaluation.bootstrap import intervals
from pgrecall.evaluation.results import METRICS
from pgrecall.scoring.signals import (
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Keyword,
    Recency,
    Similarity,
    Time,
    Trust,
)
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner
from tests.integration.recalling import DECAYING
from tests.integration.support import NORTH, NOW, at, before, similar, sql
from tests.integration.test_profiles_agree import random_memories, whole_vector

AGENT, TEAM = "agent", "red"
EVERYTHING = 10_000
UNKNOWN = UUID("00000000-0000-7000-8000-000000000000")


class Hashing:
    """Every text has a direction of its own."""

    model = "hashing"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return whole_vector(random.Random(crc32(text.encode())))


def fill(repo: MemoryRepository, engine: Engine, owner: str, size: int) -> list[UUID]:
    dice = random.Random(f"{owner} {size}")
    ids: list[UUID] = [*repo.add_many(owner, random_memories(dice, size), check_compliance=False)]
    usage = "INSERT INTO pgrecall.memory_usage VALUES (:owner, :id, :count, :at)"
    for id_ in dice.sample(ids, size // 2):
        count = dice.choice([0, 1, 20, 51, dice.randint(0, 60)])
        at = dice.choice([None, before(dice.uniform(-20, 200))])
        sql(engine, usage, owner=owner, id=id_, count=count, at=at)
    repo.invalidate(owner, ids[4::11])
    stale = RetentionPolicy(stale_tasks_after=NOW - before(250))
    repo.maintenance.run(stale, agent_id=owner)
    return ids


@dataclass(frozen=True)
class World:
    engine: Engine
    repo: MemoryRepository
    ids: list[UUID]
    """Of AGENT's memories."""
    team_ids: list[UUID]

    @contextmanager
    def at_one_moment(self) -> Iterator[MemoryRepository]:
        """A repository for which now() stands still."""
        with self.engine.connect() as connection:
            yield MemoryRepository(connection, embedder=Hashing())
            connection.rollback()


@pytest.fixture(scope="module")
def world(module_engine: Engine) -> World:
    repo = MemoryRepository(module_engine, embedder=Hashing())
    ids = fill(repo, module_engine, AGENT, 80)
    fill(repo, module_engine, TEAM, 30)  # an agent of the team's name
    return World(module_engine, repo, ids, fill(repo.teams, module_engine, TEAM, 50))


VECTOR = whole_vector(random.Random("a query"))
QUESTIONS = {
    "text": JudgedQuery("the tea of Ann and Sir W. in the rain", ()),
    "text without a term": JudgedQuery("the", ()),
    "text with entities": JudgedQuery("milk for Ann", (), entities=["Bob", "Zoë", "Bob"]),
    "text without entities": JudgedQuery("fire and Zoë", (), entities=[]),
    "vector": JudgedQuery(VECTOR, ()),
    "vector with words": JudgedQuery(VECTOR, (), keywords="dancing with Bob in 東京"),
    "vector with entities": JudgedQuery(VECTOR, (), entities=["Ann", "Nemo"]),
    "nothing": JudgedQuery(None, ()),
    "words alone": JudgedQuery(None, (), keywords="tea and rain", entities=["Bob"]),
    "text with a period": JudgedQuery("tea", (), period=(before(60), before(30))),
    "a period alone": JudgedQuery(None, (), period=(before(15), before(13))),
}
MOMENTS = (NOW, before(40), None, before(120), before(-60))
AT_MOMENTS = {
    name: replace(query, as_of=MOMENTS[number % len(MOMENTS)])
    for number, (name, query) in enumerate(QUESTIONS.items())
}
WITH_VECTOR = {name: query for name, query in AT_MOMENTS.items() if query.query is not None}

BY_TYPE = Recency(
    half_life=60, half_lives_by_type=(("task", 2.0), ("note", 90.0)), curve=Curve.HYPERBOLIC
)
OTHER_PARAMETERS = {
    Similarity(missing=0.7): 0.3,
    Recency(half_life=3, curve=Curve.LINEAR, clock=Clock.LATEST, unknown=0.4): 0.3,
    Frequency(cap=5): 0.2,
    Trust(decay=False, missing=0.9): 0.1,
    Attribute(name="own", metadata="n", most=3, falling=True): 0.1,
}
DERIVED = [
    Profile("meaning", {Similarity(): 1.0}),
    Profile("words", {Keyword(): 1.0}),
    Profile("entities", {EntityOverlap(): 0.7, Importance(): 0.3}),
    Profile("time", {Time(unknown=0.3): 0.7, Importance(): 0.3}),
    Profile("other parameters", OTHER_PARAMETERS),
    Profile("decaying by type", OTHER_PARAMETERS, decay=Decay(BY_TYPE, floor=0.2)),
    DECAYING,
    Profile("by type", {Similarity(required=True): 0.2, BY_TYPE: 0.6, Confidence(): 0.2}),
]
RANKED = [*profiles.BUILT_IN.values(), *DERIVED]

Ranks = Mapping[UUID, int]
Asked = Mapping[str, JudgedQuery]


def no_intervals(
    samples: Sequence[Sequence[float]], _: int, *, owners: Any
) -> list[tuple[float, float]]:
    return [(0.0, 0.0) for _ in samples]


def ranks_of_evaluation(
    repo: MemoryRepository,
    owner: str,
    asked: Asked,
    ids: Sequence[UUID],
    ranked: Sequence[Profile],
    **arguments: Any,
) -> dict[tuple[str, str], Ranks]:
    """By profile and question the rank of each memory: asked for one by one, all at once."""
    pairs = [(name, id_) for name in asked for id_ in ids]
    queries = [replace(asked[name], relevant=[id_]) for name, id_ in pairs]
    with pytest.MonkeyPatch.context() as patch:  # intervals of so many queries take long
        patch.setattr("pgrecall.evaluation.evaluating.intervals", no_intervals)
        evaluation = repo.evaluation.evaluate(owner, queries, profiles=ranked, **arguments)
    found: dict[tuple[str, str], dict[UUID, int]] = {
        (profile.name, name): {} for profile in ranked for name in asked
    }
    for one in evaluation.profiles:
        profile = one.profile.name.removesuffix("_reranked")
        for (name, id_), mrr in zip(pairs, one.per_query["mrr"], strict=True):
            if mrr:
                found[profile, name][id_] = round(1 / mrr)
    return found  # type: ignore[return-value]


def ranks_of_search(
    repo: MemoryRepository, owner: str, query: JudgedQuery, profile: Profile, **arguments: Any
) -> Ranks:
    arguments = {**arguments, "as_of": query.as_of or arguments.get("as_of")}
    hits = repo.search(
        owner,
        query.query,
        profile=profile,
        keywords=query.keywords,
        entities=query.entities,
        period=query.period,
        k=EVERYTHING,
        strategy="exact",
        touch=False,
        **arguments,
    )
    return {hit.memory.id: rank for rank, hit in enumerate(hits, start=1)}


def assert_same_ranks(
    repo: MemoryRepository,
    owner: str,
    asked: Asked,
    ids: Sequence[UUID],
    ranked: Sequence[Profile] = RANKED,
    **arguments: Any,
) -> set[int]:
    """How many memories the searches ranked."""
    found = ranks_of_evaluation(repo, owner, asked, ids, ranked, **arguments)
    wanted = {
        (profile.name, name): ranks_of_search(repo, owner, query, profile, **arguments)
        for profile in ranked
        for name, query in asked.items()
    }
    for key, ranks in wanted.items():
        assert found[key] == {id_: ranks[id_] for id_ in ids if id_ in ranks}, key
    assert any(wanted.values())
    return {len(ranks) for ranks in wanted.values()}


SOME = ("text", "vector with words", "nothing")
FEW = [profiles.trust, profiles.hybrid, profiles.last_access, DERIVED[3], DERIVED[-1]]


BOTH = {"both": JudgedQuery("milk for Ann", (), keywords="dancing with Bob")}
FLOORS = {"filter": {"similarity": {"$gte": 0.5137}}, "min_score": 0.3, "as_of": NOW}
MOMENT_CASES: dict[str, tuple[Asked, dict[str, Any], list[Profile]]] = {
    "one moment": (QUESTIONS, {"as_of": NOW}, RANKED),
    "moments of their own, else one": (AT_MOMENTS, {"as_of": before(20)}, RANKED),
    "entities in what is asked beside words": (BOTH, {"as_of": NOW}, [*RANKED[-6:-2:2], *FEW]),
    "a floor of similarity": (WITH_VECTOR, FLOORS, RANKED),
}


@pytest.mark.parametrize("case", MOMENT_CASES)
def test_ranks_are_those_of_a_search(world: World, case: str) -> None:
    asked, arguments, ranked = MOMENT_CASES[case]

    with world.at_one_moment() as repo:
        sizes = assert_same_ranks(repo, AGENT, asked, world.ids[::2], ranked, **arguments)

    assert len(sizes) > 1, "profiles that require an embedding leave some out"


@pytest.mark.parametrize("moments", ["one", "many"])
def test_filters_and_thresholds_are_those_of_a_search(world: World, moments: str) -> None:
    asked = {name: (QUESTIONS if moments == "one" else AT_MOMENTS)[name] for name in SOME}
    with world.at_one_moment() as repo:
        c = repo.memories.c
        trusted = {"decayed_trust": {"$gte": 0.1}}
        words = {"tags": ["a", "b"], "content": {"$match": "tea or rain"}}
        either = {"$or": [{"importance": {"$lt": 0.3}}, {"metadata.n": [1, 2]}]}
        several = {"$and": [c.usefulness > 0.1, words, trusted]}
        cases: tuple[dict[str, Any], ...] = (
            *({"include_inactive": True}, {"filter": {"decayed_trust": {"$gte": 0.3}}}),
            *({"min_score": 0.4137}, {"filter": either}),
            {"filter": {"$and": [c.importance > 0.3, c.confidence < 0.8]}},
            {"include_inactive": True, "filter": several, "min_score": 0.2137},
        )
        for case in cases:
            sizes = assert_same_ranks(repo, AGENT, asked, world.ids[::2], FEW, as_of=NOW, **case)
            assert max(sizes) < len(world.ids), case


def test_with_teams_all_are_ranked_together(world: World) -> None:
    ids = [*world.ids, *world.team_ids]

    assert_same_ranks(world.repo, AGENT, AT_MOMENTS, ids[::2], FEW, teams=[TEAM], as_of=NOW)
    assert_same_ranks(world.repo.teams, TEAM, QUESTIONS, world.team_ids, FEW, as_of=NOW)
    queries = [JudgedQuery(VECTOR, [id_]) for id_ in [*ids, UNKNOWN]]
    assert world.repo.evaluation.evaluate(AGENT, queries, teams=[TEAM]).missing == 1


def shuffling(query: str, texts: list[str]) -> list[float]:
    return [float(crc32(f"{query} {text}".encode())) for text in texts]


@pytest.mark.parametrize("arguments", [{}, {"min_score": 0.3}, {"teams": [TEAM]}], ids=str)
def test_reranked_ranks_are_those_of_a_reranked_search(
    world: World, arguments: dict[str, Any]
) -> None:
    texts = {name: one for name, one in QUESTIONS.items() if isinstance(one.query, str)}
    arguments |= {"as_of": NOW, "rerank": Rerank(shuffling, top=7, timeout=60)}
    ids = [*world.ids, *world.team_ids][::2]
    with world.at_one_moment() as repo:
        sizes = assert_same_ranks(repo, AGENT, texts | BOTH, ids, FEW, **arguments)
        [ours, plain] = [
            ranks_of_search(repo, AGENT, BOTH["both"], profiles.hybrid, **(arguments | more))
            for more in ({}, {"rerank": None})
        ]

    assert max(sizes) > 7
    assert ours != plain


def test_a_reranker_is_compared_with_the_order_by_score(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ids = shared_repo.add_many(
        agent, [NewMemory(f"tea {n}", embedding=at(10 * n)) for n in range(8)]
    )
    queries = [JudgedQuery(NORTH, [id_], keywords="tea") for id_ in ids]
    trust, meaning = profiles.trust, DERIVED[0]

    def last(query: str, texts: list[str]) -> list[float]:
        return [float(text.split()[1]) for text in texts]

    rerank = Rerank(last, top=4, timeout=60)
    found = shared_repo.evaluation.evaluate(
        agent, queries, profiles=[trust, meaning], rerank=rerank
    )
    plain = shared_repo.evaluation.evaluate(agent, queries, profiles=[trust, meaning])

    names = [one.profile.name for one in found.compared]
    assert names == [
        *("trust_reranked", "meaning_reranked"),
        *("trust", "similarity alone", "keyword alone", "hybrid"),
    ]
    by_rank = [4, 3, 2, 1, 5, 6, 7, 8]
    assert found.profiles[1].per_query["mrr"] == [1 / rank for rank in by_rank]
    of_trust = next(one for one in found.baselines if one.profile == trust)
    assert of_trust.per_query == plain.profiles[0].per_query
    assert (found.not_reranked, plain.not_reranked) == (0, None)
    assert found.record()["not_reranked"] == 0

    def fails(query: str, texts: list[str]) -> list[float]:
        raise ConnectionError

    failed = shared_repo.evaluation.evaluate(agent, queries, profiles=[trust], rerank=fails)
    assert failed.profiles[0].per_query == plain.profiles[0].per_query
    assert failed.not_reranked == 8
    assert "8 rankings were not reranked" in str(failed)
    with pytest.raises(InputError, match="query 0: rerank needs a text"):
        shared_repo.evaluation.evaluate(agent, [JudgedQuery(NORTH, []), *queries], rerank=last)


def test_a_tuning_judges_both_profiles_after_the_reranker(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ids = shared_repo.add_many(
        agent, [NewMemory(f"tea {n}", embedding=at(5 * n)) for n in range(12)]
    )
    queries = [JudgedQuery(NORTH, [id_], keywords=f"tea {n}") for n, id_ in enumerate(ids)]

    def exact(query: str, texts: list[str]) -> list[float]:
        return [float(text == query) for text in texts]

    tuning = shared_repo.evaluation.tune(agent, queries, rerank=Rerank(exact, timeout=60))

    assert [one.profile.name for one in tuning.held_out.profiles] == [
        *("hybrid_reranked", "hybrid_tuned_reranked"),
    ]
    assert [one.overall.means["ndcg"] for one in tuning.held_out.profiles] == [1, 1]
    assert tuning.held_out.not_reranked == 0
    assert tuning.start.name == "hybrid"


def test_of_one_id_at_agent_and_team_the_better_answers(
    shared_repo: MemoryRepository, agent: str
) -> None:
    for repo, degrees in ((shared_repo, 50), (shared_repo.teams, 20)):
        repo.add(agent, NewMemory("the same", embedding=at(degrees), id=UNKNOWN))
    shared_repo.add(agent, NewMemory("between", embedding=at(35)))

    found = shared_repo.evaluation.evaluate(
        agent, [JudgedQuery(NORTH, [UNKNOWN])], profiles=[DERIVED[0]], k=1, teams=[agent]
    )

    assert found.profiles[0].overall.means == {"recall": 1.0, "mrr": 1.0, "ndcg": 1.0}


FIVE = ("a", "b", "c", "d", "e")
"""Ranked in this order: 0°, 10°, … from the query."""

BY_HAND: list[tuple[dict[str, float], int, tuple[float, float, float]]] = [
    ({"a": 1}, 1, (1.0, 1.0, 1.0)),
    ({"e": 1}, 2, (0.0, 0.2, 0.0)),
    ({"e": 1}, 5, (1.0, 0.2, 0.386852807)),  # 1 / log₂ 6
    ({"b": 1, "d": 1}, 3, (0.5, 0.5, 0.386852807)),  # 0.63093 / 1.63093
    ({"b": 1, "d": 3}, 3, (0.5, 0.5, 0.173765342)),  # 0.63093 / 3.63093
    ({"b": 1, "d": 3}, 10, (1.0, 0.5, 0.529605241)),  # (0.63093 + 3 · 0.43068) / 3.63093
    ({"a": 1, "b": 1, "c": 1}, 2, (2 / 3, 1.0, 1.0)),
    ({"a": 1, "b": 2}, 1, (0.5, 1.0, 0.5)),
    ({"a": 1, "gone": 1}, 5, (0.5, 1.0, 0.613147193)),  # 1 / 1.63093
    ({"gone": 1}, 5, (0.0, 0.0, 0.0)),
    ({"b": 1, "invalid": 1}, 2, (0.5, 0.5, 0.386852807)),
    ({"b": 0.5, "c": 0.25}, 1_000_000, (1.0, 0.5, 0.669671816)),
]  # the last: (0.5 · 0.63093 + 0.25 · 0.5) / (0.5 + 0.25 · 0.63093)


@pytest.fixture
def five(shared_repo: MemoryRepository, agent: str) -> dict[str, UUID]:
    memories = [
        NewMemory(name, embedding=at(10 * number), importance=0.1 * number)
        for number, name in enumerate((*FIVE, "invalid"))
    ]
    found = dict(zip((*FIVE, "invalid"), shared_repo.add_many(agent, memories), strict=True))
    shared_repo.invalidate(agent, found["invalid"])
    return {**found, "gone": UNKNOWN}


MEANING = DERIVED[0]


def test_metrics_are_those_worked_out_by_hand(mine: Owner, five: dict[str, UUID]) -> None:
    for relevant, k, expected in BY_HAND:
        query = JudgedQuery(NORTH, {five[name]: gain for name, gain in relevant.items()})
        found = mine.evaluation.evaluate([query], profiles=[MEANING], k=k)

        [one] = found.profiles
        assert [one.per_query[name][0] for name in METRICS] == pytest.approx(expected, abs=1e-9)
        assert one.overall.means == {name: one.per_query[name][0] for name in METRICS}
        assert found.missing == ("gone" in relevant)
        assert (found.k, one.overall.queries, one.overall.differences) == (k, 1, {})


def random_queries(world: World, number: int) -> list[JudgedQuery]:
    """About any of the questions, with graded gains, unknown memories, and groups."""
    dice = random.Random("labels")
    found = []
    for _ in range(number):
        ids = dice.sample(world.ids, dice.choice([1, 2, 5, 40]))
        ids += [uuid4() for _ in range(dice.choice([0, 0, 1, 3]))]
        gains: Any = ids if dice.random() < 0.3 else {id_: dice.randint(1, 4) for id_ in ids}
        query = dice.choice(list(QUESTIONS.values()))
        moment, group = dice.choice(MOMENTS), dice.choice(["x", "y", None])
        found.append(replace(query, relevant=gains, as_of=moment, group=group))
    return found


def test_no_bit_of_a_metric_depends_on_the_plan(world: World) -> None:
    queries, found = random_queries(world, 60), []
    for off in ("hashagg", "sort", "hashjoin"):
        with world.engine.begin() as connection:
            connection.exec_driver_sql(f"SET LOCAL enable_{off} = off")
            repo = MemoryRepository(connection, embedder=Hashing())
            found.append(repo.evaluation.evaluate(AGENT, queries, profiles=RANKED, as_of=NOW, k=90))

    assert found[0] == found[1] == found[2]


def test_differences_are_to_the_first_and_paired(world: World) -> None:
    queries = random_queries(world, 30)
    asked: dict[str, Any] = {"profiles": ["half_life", "trust", "half_life"], "as_of": NOW}

    evaluation = world.repo.evaluation.evaluate(AGENT, queries, seed=7, **asked)
    theirs: dict[str, Any] = {"seed": np.int64(7), "k": np.int64(10)}
    again = world.repo.evaluation.evaluate(AGENT, queries, **asked, **theirs)
    other = world.repo.evaluation.evaluate(AGENT, queries, seed=8, **asked).profiles[1].overall

    first, second, same = evaluation.profiles
    assert evaluation == again
    assert json.loads(json.dumps(again.record())) == evaluation.record()
    assert other.means == second.overall.means
    assert other.differences != second.overall.differences
    assert first.overall.differences == {}
    for name in METRICS:
        sample = [b - a for a, b in zip(first.per_query[name], second.per_query[name], strict=True)]
        found = second.overall.differences[name]
        assert found.mean == pytest.approx(statistics.fmean(sample))
        [interval] = intervals([sample], 7)
        assert (found.low, found.high) == pytest.approx(interval)
        assert found.low < found.mean < found.high
        none = same.overall.differences[name]
        assert (none.mean, none.low, none.high, none.is_clear) == (0, 0, 0, False)


def test_a_difference_over_few_queries_is_not_clear(mine: Owner, five: dict[str, UUID]) -> None:
    away = Profile("away", {Importance(): 1.0})
    for queries in (9, 10):
        asked = [JudgedQuery(NORTH, [five["a"]], group="all")] * queries
        found = mine.evaluation.evaluate(asked, profiles=[MEANING, away]).profiles[1]

        for one in (found.overall, found.by_group["all"]):
            difference = one.differences["mrr"]
            assert difference.low <= difference.high < 0
            assert (difference.queries, difference.is_clear) == (queries, queries == 10)


TEMPORARY = "SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'"


def test_no_retrieval_is_counted_and_nothing_is_left(world: World) -> None:
    usage = "SELECT * FROM pgrecall.memory_usage ORDER BY agent_id, memory_id"
    events = "SELECT count(*) FROM pgrecall.memory_events"
    then = sql(world.engine, usage), sql(world.engine, events)

    with world.engine.connect() as connection:
        repo = MemoryRepository(connection, embedder=Hashing())
        for _ in range(2):
            repo.evaluation.evaluate(AGENT, random_queries(world, 10), profiles=RANKED)
        assert connection.exec_driver_sql(TEMPORARY).all() == []
        connection.commit()

    assert (sql(world.engine, usage), sql(world.engine, events)) == then


def test_progress_is_reported_while_queries_are_ranked_and_changes_nothing(world: World) -> None:
    queries = random_queries(world, 23)
    reported: list[tuple[int, int]] = []
    again = partial(world.repo.evaluation.evaluate, AGENT, queries, profiles=RANKED, as_of=NOW)
    evaluation = again(on_progress=lambda done, of: reported.append((done, of)))

    assert evaluation == again()
    assert reported[-1] == (23, 23)
    steps = [after - before for (before, _), (after, _) in pairwise([(0, 23), *reported])]
    assert len(steps) >= 3
    assert all(1 <= step <= 10 for step in steps)


def test_queries_may_come_one_by_one_and_name_an_id_twice(
    mine: Owner, five: dict[str, UUID]
) -> None:
    several = [JudgedQuery(NORTH, (five[n] for n in name)) for name in ("a", "b", "de", "beb")]

    for _ in range(2):
        found = mine.evaluation.evaluate(iter(several), profiles=[MEANING], k=3)
        assert found.profiles[0].per_query["mrr"] == [1, 1 / 2, 1 / 4, 1 / 2]
        assert found.profiles[0].per_query["recall"] == [1, 1, 0, 0.5]


NAIVE = NOW.replace(tzinfo=None)
NAN = float("nan")
GOOD = JudgedQuery(NORTH, [UNKNOWN])
ASKED_NOTHING = replace(GOOD, query=None)
BAD: list[tuple[dict[str, Any], type[InputError], str]] = [
    ({"agent_id": ""}, InputError, r"agent_id must not be empty"),
    ({"queries": "tea"}, InputError, r"queries.*list of JudgedQuery.*str"),
    ({"queries": []}, InputError, r"there are no judged queries"),
    ({"queries": [GOOD, "tea"]}, InputError, r"query 1: .*JudgedQuery, got str"),
    ({"profiles": []}, InputError, r"at least one profile"),
    ({"profiles": "six_factor"}, UnknownName, r"six_factor.*five_factor"),
    ({"k": 0}, InputError, r"k must lie within 1 .*got 0"),
    ({"seed": -1}, InputError, r"seed must lie within 0"),
    ({"as_of": NAIVE}, InputError, r"as_of.*time zone"),
    ({"min_score": 1.1}, InputError, r"min_score.*1\.1"),
    ({"colour": "red"}, UnknownName, r"colour.*include_inactive"),
    ({"period": "always"}, UnknownName, r"period must be 'auto'.*'always'"),
    (
        {"queries": [GOOD, ASKED_NOTHING], "filter": {"similarity": {"$gte": 0.5}}},
        InputError,
        "needs a vector or a t",
    ),
]
BAD_QUERIES: list[tuple[dict[str, Any], type[InputError], str]] = [
    ({"query": " \t\n"}, InputError, r"query 1: the query is empty"),
    ({"query": "tea"}, EmbedderRequired, r"embedder"),
    ({"query": [1.0]}, InvalidVector, r"query 1: .*8"),
    ({"relevant": str(UNKNOWN)}, InputError, r"query 1: relevant must be ids"),
    ({"relevant": ["no id"]}, InputError, r"query 1: .*UUID.*'no id'"),
    ({"relevant": {UNKNOWN: 0}}, InputError, r"query 1: a gain must.*got 0"),
    ({"group": ""}, InputError, r"query 1: group must not be empty"),
    ({"as_of": NAIVE}, InputError, r"query 1: as_of has no time zone"),
    ({"entities": "Ann"}, InputError, r"query 1: entities must be a list"),
    ({"period": (NOW, NOW)}, InputError, r"query 1: period must end after it begins"),
]
BAD += [
    ({"queries": [GOOD, replace(GOOD, **bad), GOOD]}, error, told)
    for bad, error, told in BAD_QUERIES
]


def test_what_cannot_be_evaluated_is_refused_and_leaves_nothing(shared_engine: Engine) -> None:
    """Within a transaction that holds nothing afterwards and can be used on."""
    with shared_engine.connect() as connection:
        repo = MemoryRepository(connection)
        for arguments, error, message in BAD:
            given: dict[str, Any] = {"agent_id": "agent", "queries": [GOOD], **arguments}
            with pytest.raises(error, match=message) as caught:
                repo.evaluation.evaluate(given.pop("agent_id"), given.pop("queries"), **given)
            assert type(caught.value) is error
        assert connection.exec_driver_sql(TEMPORARY).all() == []
        greatest = repo.evaluation.evaluate("agent", [GOOD], seed=2**63, k=1_000_000)
        connection.rollback()

    assert greatest.k == 1_000_000


# Floors


AGENT, TEAM = "agent", "red"
FLOOR_WORDS = [f"word{n}x" for n in range(30)]


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
    assert found.profiles[0].overall.queries == 2
    assert found.record()["floors"][40]["silent"] == 0.5


@pytest.fixture(scope="module")
def answers(module_engine: Engine) -> tuple[MemoryRepository, list[JudgedQuery]]:
    dice = random.Random("floors")

    def memory(number: int) -> NewMemory:
        return NewMemory(
            " ".join(dice.choices(FLOOR_WORDS, k=dice.randint(1, 9))) + f" no{number}x",
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
            keywords=" ".join([*dice.choices(FLOOR_WORDS, k=3), "nobodyhasit"]),
            as_of=None if number % 2 else before(20),
        )
        for number in range(18)
    ]
    return repo, queries


@pytest.mark.parametrize(
    ("profile", "given"),
    [
        ("hybrid", {}),
        ("five_factor", {"min_score": 0.4}),
        ("tiered", {"filter": {"entities": "Ann"}}),
    ],
)
def test_floors_are_what_searches_with_them_return(
    answers: tuple[MemoryRepository, list[JudgedQuery]], profile: str, given: dict[str, Any]
) -> None:
    repo, queries = answers
    everything: dict[str, Any] = {"teams": [TEAM], **given}
    found = repo.evaluation.evaluate(
        AGENT, queries, profiles=[profile], k=5, as_of=NOW, **everything
    )

    for floor in (0.0, 0.2, 0.35, 0.5, 0.7):
        silent, lost, recalls = 0, 0, []
        for query in queries:
            asked: dict[str, Any] = {"keywords": query.keywords, "as_of": query.as_of or NOW}
            asked |= {"k": 5, "profile": profile, "min_relevance": floor, "touch": False}
            hits = repo.search(AGENT, query.query, **asked, **everything)
            if relevant := set(query.relevant):
                lost += not hits
                recalls.append(len(relevant & {hit.memory.id for hit in hits}) / len(relevant))
            else:
                silent += not hits
        one = floors_of(found)[floor]
        assert (one.silent, one.lost) == (silent / 6, lost / 12)
        assert one.recall == pytest.approx(sum(recalls) / 12)


def test_questions_without_an_answer_alone_are_refused(
    answers: tuple[MemoryRepository, list[JudgedQuery]],
) -> None:
    repo, queries = answers
    with pytest.raises(InputError, match="no judged query has a relevant memory"):
        repo.evaluation.evaluate(AGENT, [queries[0]])
    assert repo.evaluation.evaluate(AGENT, [queries[1]]).floors is None
