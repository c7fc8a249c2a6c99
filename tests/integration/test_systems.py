"""Every number of the five systems that concerns ranking, from the database.

Each test stores a table's rows under an agent of its own and reads all of them with one search;
the same numbers out of pgrecall.score stand in tests/unit/test_systems.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import exp
from typing import Any

import pytest
from sqlalchemy import Engine, insert

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory, profiles
from pgrecall.errors import InvalidProfile
from pgrecall.schema import tables
from pgrecall.signals import Recency
from tests.integration.support import NORTH, NOW, at, before, contents, similar, sql
from tests.unit.test_systems import (
    BY_TYPE,
    DECAY_OF_B,
    DECAY_OF_C,
    DECAY_OF_D,
    ENTITIES_OF_E,
    FACTORS,
    WEIGHTS,
)

EXACT = 1e-9
SINGLE_PRECISION = 1e-6
"""Of vectors whose components are not whole."""


@dataclass(frozen=True)
class Used:
    """A memory, and its counters."""

    memory: NewMemory
    retrievals: int | None = None
    accessed_hours_ago: float | None = None


@dataclass(frozen=True)
class Desk:
    """A repository for one agent that no other test uses."""

    repository: MemoryRepository
    engine: Engine
    agent: str

    def store(self, memories: Sequence[Used | NewMemory]) -> None:
        all_used = [one if isinstance(one, Used) else Used(one) for one in memories]
        ids = self.repository.add_many(
            self.agent, [used.memory for used in all_used], check_compliance=False
        )
        counters = [
            {
                "agent_id": self.agent,
                "memory_id": id_,
                "retrieval_count": used.retrievals or 0,
                "last_accessed_at": None
                if used.accessed_hours_ago is None
                else NOW - timedelta(hours=used.accessed_hours_ago),
            }
            for id_, used in zip(ids, all_used, strict=True)
            if (used.retrievals, used.accessed_hours_ago) != (None, None)
        ]
        if counters:
            with self.engine.begin() as connection:
                connection.execute(insert(tables().memory_usage), counters)

    def search(
        self, profile: Profile | str, embedding: list[float] | None = None, **arguments: Any
    ) -> list[ScoredMemory]:
        arguments = {"as_of": NOW, "k": 200, "touch": False, **arguments}
        return self.repository.search(self.agent, embedding, profile=profile, **arguments)

    def signals(self, profile: Profile | str, signal: str, **arguments: Any) -> dict[str, float]:
        """Content → value of the signal."""
        hits = self.search(profile, **arguments)
        return {hit.memory.content: hit.signals[signal] for hit in hits}


@pytest.fixture
def desk(shared_repo: MemoryRepository, shared_engine: Engine, agent: str) -> Desk:
    return Desk(shared_repo, shared_engine, agent)


def close(expected: Mapping[str, float], tolerance: float = EXACT) -> Any:
    return pytest.approx(dict(expected), rel=0, abs=tolerance)


UNDECIDED: dict[str, None] = dict.fromkeys(
    ("trust", "trust_curve", "trust_half_life_hours", "expires_at")
)


def plain(content: object, **values: Any) -> NewMemory:
    """A memory that is NOW's, not assessed, and lasts, but for what is said."""
    return NewMemory(str(content), **{"embedding": NORTH, "created_at": NOW, **UNDECIDED, **values})


@pytest.mark.parametrize("name", WEIGHTS)
def test_the_contributions_are_the_systems_weights_where_all_is_one(desk: Desk, name: str) -> None:
    best = plain("best", usefulness=1.0, importance=1.0, confidence=1.0, trust=1.0, entities=["a"])
    desk.store([Used(best, retrievals=50, accessed_hours_ago=0)])

    [hit] = desk.search(name, NORTH, query_entities=["a"])

    assert hit.contributions == close(WEIGHTS[name])
    assert hit.score == pytest.approx(1, abs=EXACT)


# A


def test_a_recency(desk: Desk) -> None:
    desk.store([*(plain(d, created_at=before(d)) for d in (0, 1, 14, 100, -0.5))])
    desk.store([plain("unknown", created_at=None)])

    found = desk.signals("five_factor", "recency", as_of=None)
    at_now = desk.signals("five_factor", "recency")

    assert found["unknown"] == 0.5
    assert at_now == close({"unknown": 0.5, **{str(d): exp(-0.05 * d) for d in (0, 1, 14, 100)}})
    assert at_now["14"] == pytest.approx(0.4966, abs=5e-5)
    assert desk.signals(profiles.five_factor.with_half_life(14), "recency")["14"] == pytest.approx(
        0.5, abs=EXACT
    )


def test_a_frequency_caps_at_50(desk: Desk) -> None:
    counts = [0, 1, 25, 49, 50, 51, 100]
    desk.store([Used(plain(n), retrievals=n) for n in counts])
    desk.store([plain("never")])

    assert desk.signals("five_factor", "frequency") == close(
        {"never": 0, **{str(n): min(n / 50, 1) for n in counts}}
    )


def test_a_neutral_values(desk: Desk) -> None:
    desk.store([plain("with"), plain("without", embedding=None)])

    [first, second] = desk.search("five_factor", NORTH)

    assert contents([first, second]) == ["with", "without"]
    assert (second.similarity, second.signals["similarity"]) == (None, 0)
    assert (second.signals["usefulness"], second.signals["confidence"]) == (0.5, 0.8)
    assert second.score == pytest.approx(0.25 + 0.2 * 0.5 + 0.1 * 0.8, abs=EXACT)


def test_a_relevance_does_not_dominate(desk: Desk) -> None:
    """ADR-0040: relevance alone scores 0.40 and stands below all the rest, which scores 0.60."""
    nothing = {"usefulness": 0.0, "confidence": 0.0, "created_at": before(20_000)}
    everything = {"usefulness": 1.0, "confidence": 1.0}
    desk.store(
        [
            plain("relevant", **nothing),
            Used(plain("the rest", embedding=at(90), **everything), retrievals=50),
        ]
    )

    hits = desk.search("five_factor", NORTH)

    assert contents(hits) == ["the rest", "relevant"]
    assert [hit.score for hit in hits] == pytest.approx([0.60, 0.40], rel=0, abs=EXACT)
    assert contents(desk.search("five_factor", NORTH, min_similarity=0.15)) == ["relevant"]


def test_a_half_lives_by_type_the_shortest_counts(desk: Desk) -> None:
    half_lives = {
        "factual": 180,
        "procedural": 120,
        "preference": 45,
        "behavioural": 30,
        "episodic": 14,
        "anything else": 14,
        "factual, procedural": 120,
        "procedural, factual": 120,
        "factual, procedural, preference, behavioural": 30,
        "factual, episodic": 14,
        "anything else, factual": 14,
        "factual, anything else": 14,
    }
    memories = []
    for name, days in half_lives.items():
        first, *more = name.split(", ")
        memories.append(
            plain(name, memory_type=first, additional_types=more, created_at=before(days))
        )
    desk.store(memories)

    profile = Profile("by type", {BY_TYPE: 1})

    assert desk.signals(profile, "recency") == close(dict.fromkeys(half_lives, 0.5))


def test_a_the_record_is_rounded_and_the_order_is_not(desk: Desk) -> None:
    desk.store([plain("first", importance=0.1 + 2e-9), plain("second", importance=0.1)])

    hits = desk.search(profiles.half_life.with_weights(importance=1.0))

    assert contents(hits) == ["first", "second"]
    assert [hit.record()["score"] for hit in hits] == [0.1, 0.1]


# B


def test_b_the_decay_table(desk: Desk) -> None:
    long_ago = before(999)
    desk.store(
        [
            Used(plain(f"accessed {d}", created_at=long_ago), accessed_hours_ago=24 * d)
            for d, _ in DECAY_OF_B
        ]
    )
    desk.store([plain(f"created {d}", created_at=before(d)) for d, _ in DECAY_OF_B])
    desk.store([Used(plain("counted 7", created_at=before(7)), retrievals=3)])

    found = desk.signals("last_access", "recency")

    expected = {f"{what} {d}": v for d, v in DECAY_OF_B for what in ("accessed", "created")}
    assert found == close({**expected, "counted 7": 0.705}, 5e-4)


def test_b_the_formula(desk: Desk) -> None:
    memory = plain("one", embedding=similar(0.8), importance=0.6, created_at=before(99))
    desk.store([Used(memory, accessed_hours_ago=240)])

    [hit] = desk.search("last_access", NORTH)

    by_hand = 0.5 * 0.8 + 0.3 * 0.6 + 0.2 * exp(-0.5)
    assert hit.score == pytest.approx(by_hand, rel=0, abs=SINGLE_PRECISION)


def test_b_only_active_memories_with_an_embedding(desk: Desk) -> None:
    names = ["active", "consolidated", "completed", "archived"]
    desk.store([plain("no embedding", embedding=None), *map(plain, names)])
    for name in names:
        sql(
            desk.engine,
            "UPDATE pgrecall.agent_memories SET status = :status "
            "WHERE agent_id = :agent AND content = :status",
            status=name,
            agent=desk.agent,
        )

    assert contents(desk.search("last_access", NORTH)) == ["active"]
    assert contents(desk.search("five_factor", NORTH)) == ["active", "no embedding"]


def test_b_an_agents_and_its_teams_memories_are_one_ranking(desk: Desk) -> None:
    team, other = f"{desk.agent}-team", f"{desk.agent}-other"
    desk.store([plain("own first", embedding=at(0)), plain("own third", embedding=at(60))])
    desk.repository.teams.add_many(team, [plain("team second", embedding=at(30))])
    desk.repository.teams.add_many(other, [plain("other team's", embedding=at(0))])

    hits = desk.search("last_access", NORTH, teams=[team])

    assert contents(hits) == ["own first", "team second", "own third"]
    assert contents(desk.search("last_access", NORTH, teams=[team], k=2)) == contents(hits)[:2]
    assert contents(desk.search("last_access", NORTH)) == ["own first", "own third"]
    owners = [(hit.memory.agent_id, hit.memory.team_id) for hit in hits]
    assert owners == [(desk.agent, None), (None, team), (desk.agent, None)]


def test_b_hits_of_teams_are_counted_where_they_belong(desk: Desk) -> None:
    team = f"{desk.agent}-team"
    desk.store([plain("own")])
    [id_] = desk.repository.teams.add_many(team, [plain("team's")])

    desk.search("last_access", NORTH, teams=[team], touch=True)

    counted = sql(
        desk.engine,
        "SELECT agent_id, retrieval_count FROM pgrecall.memory_usage "
        "WHERE agent_id IN (:agent, :team) ORDER BY agent_id",
        agent=desk.agent,
        team=f"team:{team}",
    )
    assert counted == [(desk.agent, 1), (f"team:{team}", 1)]
    memory = desk.repository.teams.get(team, id_)
    assert memory is not None
    assert memory.retrieval_count == 1


# C


def test_c_the_half_life_and_the_later_clock(desk: Desk) -> None:
    """Created, accessed, and created after the access: the age is that of the later one."""
    for days, _ in DECAY_OF_C:
        old = replace(plain(f"accessed {days}"), created_at=before(99))
        desk.store(
            [
                plain(f"created {days}", created_at=before(days)),
                Used(old, accessed_hours_ago=24 * days),
                Used(
                    plain(f"created later {days}", created_at=before(days)),
                    accessed_hours_ago=24 * 99,
                ),
            ]
        )
    desk.store([Used(plain("only accessed", created_at=None), accessed_hours_ago=24 * 14)])
    desk.store([plain("unknown", created_at=None)])

    expected = {
        f"{what} {days}": value
        for days, value in DECAY_OF_C
        for what in ("created", "accessed", "created later")
    }
    assert desk.signals("half_life", "recency") == close(
        {**expected, "only accessed": 0.5, "unknown": 0.5}
    )


@pytest.mark.parametrize("days", [0.5, 30, 365])
def test_c_the_half_life_can_be_set(desk: Desk, days: float) -> None:
    desk.store([plain(n, created_at=before(days * n)) for n in (0, 1, 2, 4)])

    found = desk.signals(profiles.half_life.with_half_life(days), "recency")

    assert found == close({"0": 1, "1": 0.5, "2": 0.25, "4": 0.0625})


def test_c_missing_similarity_and_importance_are_neutral(desk: Desk) -> None:
    desk.store([plain("one", embedding=None)])

    [hit] = desk.search("half_life", NORTH)
    [without_query] = desk.search("half_life")

    assert (hit.signals["similarity"], hit.signals["importance"]) == (0.5, 0.5)
    assert (hit.similarity, without_query.similarity) == (None, None)
    assert hit.score == pytest.approx(0.4 * 0.5 + 0.3 + 0.3 * 0.5, abs=EXACT)
    assert without_query.score == hit.score


def test_c_weights_are_normalised_by_their_sum(desk: Desk) -> None:
    desk.store([plain("one", embedding=at(90), importance=0.25, created_at=before(14))])
    weights = {"similarity": 2, "recency": 1, "importance": 1}

    [hit] = desk.search("half_life", NORTH, weights=weights, normalise_weights=True)
    [alone] = desk.search("half_life", NORTH, weights={"recency": 7}, normalise_weights=True)

    assert hit.contributions == close({"similarity": 0, "recency": 0.125, "importance": 0.0625})
    assert alone.contributions == close({"similarity": 0, "recency": 0.5, "importance": 0})
    with pytest.raises(InvalidProfile):
        desk.search("half_life", NORTH, weights=weights)


def test_c_min_score_of_a_tenth_and_20_at_most(desk: Desk) -> None:
    values: dict[str, Any] = {"embedding": at(90), "created_at": before(9_999)}
    importances = [n / 61 for n in range(60)]
    desk.store([plain(f"{i:.4f}", importance=i, **values) for i in importances])

    hits = desk.search("half_life", NORTH, min_score=0.1, k=20)
    all_hits = desk.search("half_life", NORTH, min_score=0.1)

    assert contents(hits) == [f"{i:.4f}" for i in reversed(importances)][:20]
    assert contents(all_hits) == [f"{i:.4f}" for i in reversed(importances) if 0.3 * i >= 0.1]
    assert len(desk.search("half_life", NORTH)) == 60


def test_c_the_stores_named_are_merged_into_one_ranking(desk: Desk) -> None:
    stores = ["fact", "entity", "learning", "chatter"]
    desk.store(
        [
            plain(f"{store} {degrees}", memory_type=store, embedding=at(degrees))
            for store in stores
            for degrees in (10 + stores.index(store), 50 - stores.index(store))
        ]
    )

    found = desk.search("half_life", NORTH, memory_types=["fact", "entity", "learning"], k=5)

    assert contents(found) == ["fact 10", "entity 11", "learning 12", "learning 48", "entity 49"]


# D


def test_d_the_three_curves_in_one_search(desk: Desk) -> None:
    """One expression serves rows of different curves and half-lives."""
    cases = {
        f"{used_for} {half_lives}": (curve, hours, half_lives, factor)
        for curve, hours, used_for in DECAY_OF_D
        for half_lives, factor in FACTORS[curve]
    }
    desk.store(
        [
            Used(
                plain(name, trust=0.8, trust_curve=curve, trust_half_life_hours=float(hours)),
                accessed_hours_ago=hours * half_lives,
            )
            for name, (curve, hours, half_lives, _) in cases.items()
        ]
    )

    decayed = desk.signals("trust", "trust")
    stored = desk.signals("trust", "trust", apply_decay=False)

    assert decayed == close({name: 0.8 * case[3] for name, case in cases.items()})
    assert stored == close(dict.fromkeys(cases, 0.8))


def test_d_without_a_clock_no_decay_and_without_a_curve_168_hours(desk: Desk) -> None:
    old = before(9_999)
    curves = [None, "hyperbolic", "exponential", "linear"]
    desk.store([plain(f"never {c}", trust=0.8, trust_curve=c, created_at=old) for c in curves])
    desk.store([Used(plain("counted", trust=0.8, created_at=old), retrievals=4)])
    desk.store([Used(plain(h, trust=0.6), accessed_hours_ago=h) for h in (0, 168, 336, 504)])
    desk.store([Used(plain("never assessed"), accessed_hours_ago=9_999)])

    assert desk.signals("trust", "trust") == close(
        {
            **{f"never {curve}": 0.8 for curve in curves},
            "counted": 0.8,
            "0": 0.6,
            "168": 0.3,
            "336": 0.2,
            "504": 0.15,
            "never assessed": 0.5,
        }
    )


def test_d_recency_is_hyperbolic_in_hours_since_creation(desk: Desk) -> None:
    hours = [0, 1, 84, 168, 336, 1_680]
    desk.store([Used(plain(h, created_at=before(h / 24)), accessed_hours_ago=7) for h in hours])

    assert desk.signals("trust", "recency") == close({str(h): 1 / (1 + h / 168) for h in hours})


def test_d_the_rank_formula_with_and_without_a_query(desk: Desk) -> None:
    memory = plain(
        "one",
        embedding=at(90),
        trust=0.9,
        trust_curve="exponential",
        trust_half_life_hours=72.0,
        created_at=before(7),
        importance=0.7,
    )
    desk.store([Used(memory, accessed_hours_ago=72)])
    other = [0.0, 1.0, *NORTH[2:]]

    [without] = desk.search("trust")
    [orthogonal] = desk.search("trust", NORTH)
    [same] = desk.search("trust", other)
    [stored] = desk.search("trust", apply_decay=False)

    rest = 0.40 * 0.45 + 0.15 * 0.5 + 0.10 * 0.7
    assert without.score == pytest.approx(rest, rel=0, abs=EXACT)
    assert without.similarity is None
    assert orthogonal.score == pytest.approx(rest, rel=0, abs=SINGLE_PRECISION)
    assert same.score == pytest.approx(rest + 0.35, rel=0, abs=SINGLE_PRECISION)
    assert stored.score == pytest.approx(rest + 0.40 * 0.45, rel=0, abs=EXACT)


def test_d_a_read_without_a_query_ranks_by_the_rest(desk: Desk) -> None:
    desk.store([plain("low", trust=0.2), plain("high", trust=0.9), plain("none", embedding=None)])

    assert contents(desk.search("trust")) == ["high", "none", "low"]
    assert contents(desk.search("trust", k=1)) == ["high"]


@pytest.mark.parametrize(
    ("column", "argument"),
    [
        ("component", "components"),
        ("output_type", "output_types"),
        ("domain", "domains"),
        ("category", "categories"),
        ("loop", "loops"),
    ],
)
def test_d_reads_filter_by_their_labels(desk: Desk, column: str, argument: str) -> None:
    desk.store([plain(value, **{column: value}) for value in ("a", "b", "c")])
    desk.store([plain("none")])

    def found(*wanted: str) -> set[str]:
        filters: dict[str, Any] = {argument: list(wanted)}
        return set(contents(desk.search("trust", **filters)))

    assert found("a", "c", "x") == {"a", "c"}
    assert found("x") == set()
    assert found() == set()


def test_d_reads_filter_by_compliance(desk: Desk) -> None:
    desk.store([plain(value, compliant=value) for value in (True, False, None)])

    assert contents(desk.search("trust", compliant=True)) == ["True"]
    assert contents(desk.search("trust", compliant=False)) == ["False"]
    assert len(desk.search("trust")) == 3


def test_d_min_trust_looks_at_trust_as_it_is_ranked(desk: Desk) -> None:
    desk.store(
        [
            plain("fresh", trust=0.5),
            Used(plain("decayed", trust=0.9), accessed_hours_ago=168),
            plain("low", trust=0.499),
            plain("never assessed"),
        ]
    )

    def found(**arguments: Any) -> set[str]:
        return set(contents(desk.search("trust", **arguments)))

    assert found(min_trust=0.5) == {"fresh"}
    assert found(min_trust=0.5, apply_decay=False) == {"fresh", "decayed"}
    assert found(min_trust=0.0) == {"fresh", "decayed", "low"}
    assert found() == {"fresh", "decayed", "low", "never assessed"}


# E


def test_e_half_lives_by_tier(desk: Desk) -> None:
    hours = {"short": 6, "medium": 7 * 24, "long": 90 * 24}
    ages = [0, 1, 2, 4]
    for tier, half_life in hours.items():
        desk.store(
            [
                Used(
                    plain(f"{tier} {n}", tier=tier, created_at=before(9_999)),
                    accessed_hours_ago=half_life * n,
                )
                for n in ages
            ]
        )
        desk.store(
            [
                plain(f"{tier} {n} new", tier=tier, created_at=before(half_life * n / 24))
                for n in ages
            ]
        )

    expected = {
        f"{tier} {n}{what}": 0.5**n for tier in hours for n in ages for what in ("", " new")
    }
    assert desk.signals("tiered", "recency") == close(expected)


def test_e_half_lives_by_tier_of_a_profile_of_ones_own(desk: Desk) -> None:
    recency = Recency(half_life=10, half_lives_by_tier=(("short", 1.0), ("medium", 5.0)))
    days = {"short": 1, "medium": 5, "long": 10}
    desk.store([plain(tier, tier=tier, created_at=before(d)) for tier, d in days.items()])

    found = desk.signals(Profile("mine", {recency: 1}), "recency")

    assert found == close(dict.fromkeys(days, 0.5))


def test_e_access_caps_at_20(desk: Desk) -> None:
    counts = [0, 1, 10, 19, 20, 21, 1_000]
    desk.store([Used(plain(n), retrievals=n) for n in counts])

    assert desk.signals("tiered", "frequency") == close({str(n): min(n / 20, 1) for n in counts})


@pytest.mark.parametrize(
    ("asked", "of_memory", "expected"),
    [case for case in ENTITIES_OF_E if case[1] is not None],
)
def test_e_entity_overlap(
    desk: Desk, asked: list[str] | None, of_memory: list[str], expected: float
) -> None:
    desk.store([plain("one", entities=of_memory)])

    [found] = desk.signals("tiered", "entity_overlap", query_entities=asked).values()

    assert found == pytest.approx(expected, rel=0, abs=EXACT)


def test_e_the_formula(desk: Desk) -> None:
    memory = plain(
        "one", tier="short", importance=0.6, usefulness=0.7, entities=["Ann"], created_at=before(9)
    )
    desk.store([Used(memory, retrievals=5, accessed_hours_ago=12)])

    [hit] = desk.search("tiered", NORTH, query_entities=["Ann", "Bob"])

    by_hand = 0.40 + 0.20 * 0.25 + 0.15 * 0.6 + 0.10 * 0.25 + 0.10 * 0.7 + 0.05 * 0.5
    assert hit.score == pytest.approx(by_hand, rel=0, abs=EXACT)


def test_e_a_minimum_similarity_is_not_a_minimum_score(desk: Desk) -> None:
    desk.store(
        [
            plain("similar", importance=0.0, usefulness=0.0, created_at=before(9_999)),
            plain("good", embedding=at(90), importance=1.0, usefulness=1.0),
            plain("both", importance=1.0),
            plain("no embedding", embedding=None, importance=1.0, usefulness=1.0),
        ]
    )

    def found(**arguments: Any) -> set[str]:
        return set(contents(desk.search("tiered", NORTH, **arguments)))

    assert found(min_similarity=0.9) == {"similar", "both"}
    assert found(min_score=0.41) == {"good", "both", "no embedding"}
    assert found(min_similarity=0.9, min_score=0.41) == {"both"}
    assert len(found()) == 4


def test_e_reads_filter_by_tier_and_metadata(desk: Desk) -> None:
    desk.store([plain(tier, tier=tier, metadata={"t": tier}) for tier in ("short", "long")])

    assert contents(desk.search("tiered", tiers=["short"])) == ["short"]
    assert contents(desk.search("tiered", metadata={"t": "long"})) == ["long"]
