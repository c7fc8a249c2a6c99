"""Candidates, which the studio ranks: their values and bounds are those of a search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pgrecall import (
    Decay,
    InputError,
    MemoryRepository,
    NewMemory,
    Profile,
    Recency,
    profiles,
)
from pgrecall.core.steps import Run
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.signals import Curve, Importance, Keyword, Similarity
from pgrecall.search import shortlisting
from pgrecall.search.candidates_statement import candidates_of
from pgrecall.search.shortlisting import Candidates
from pgrecall.service.bodies import StudioMethods
from tests.integration.support import NOW, at, before
from tests.integration.test_profiles_agree import AGENT, TEAMS, World, about, world_at

EXACT = 1e-11
DECAYING = Profile(
    "decaying",
    {Similarity(): 0.5, Importance(): 0.3, Keyword(): 0.2},
    redistribute=True,
    decay=Decay(Recency(half_life=60, curve=Curve.LINEAR), floor=0.2),
)
PROFILES = [*profiles.BUILT_IN.values(), DECAYING]
QUESTIONS: dict[str, dict[str, Any]] = {
    "words and a vector": about(keywords="great fire and rain"),
    "words alone": about(query=None, keywords="tea with Zoë"),
    "stop words": about(keywords="the"),
    "neither": about(query=None),
    "names": about(entities=["Ann", "Zoë"], keywords="Ann"),
    "teams": about(teams=TEAMS, keywords="dancing"),
    "a period": about(period=(before(60), before(30)), as_of=before(10)),
    "filters": about(filter={"similarity": {"$gte": 0.1}, "memory_type": ["episodic", "note"]}),
    "nothing passes": about(filter={"memory_type": "none"}),
}


@pytest.fixture(scope="module")
def world(module_url: str) -> Iterator[World]:
    with world_at(module_url) as found:
        yield found


def asked(question: str) -> dict[str, Any]:
    return {"as_of": NOW, **QUESTIONS[question]}


def candidates(
    repository: MemoryRepository, agent: str, query: Any = None, **asked: Any
) -> Candidates:
    found: Candidates = StudioMethods(repository).candidates(agent, query, **asked)  # type: ignore[arg-type,assignment]
    return found


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_value_is_that_of_a_search(world: World, question: str, profile: Profile) -> None:
    arguments = asked(question) | {"profile": profile}
    hits = world.repository.search(AGENT, touch=False, strategy="exact", **arguments)
    everything = {one.memory.id: one for one in hits}
    n = 20
    found = candidates(world.repository, AGENT, **arguments | {"k": 5}, n=n)

    assert found.total == len(hits)
    assert [one.memory.id for one in found.memories[:n]] == [one.memory.id for one in hits[:n]]
    for one in found.memories:
        hit = everything[one.memory.id]
        assert one.memory == hit.memory
        assert one.score == pytest.approx(hit.score, abs=EXACT)
        assert one.signals == pytest.approx(hit.signals, abs=EXACT)
        assert (one.similarity, one.relevance) == (hit.similarity, hit.relevance)
    there = {one.memory.id for one in found.memories}
    bounds = found.signals | ({} if found.decay is None else {"decay": found.decay})
    for name, bound in bounds.items():
        values = sorted((one.signals[name] for one in hits), reverse=True)
        assert bound.nth == (values[n - 1] if len(values) >= n else None), name
        if bound.has_value and bound.nth is not None:
            above = {one.memory.id for one in hits if one.signals[name] > bound.nth}
            assert above <= there
        elif not bound.has_value:
            assert len({*values}) <= 1


def curve(signal: Recency, age: float | None) -> float:
    """As the page computes recency anew for another half-life."""
    if age is None:
        return signal.unknown
    half_life = signal.half_life_in_days
    if signal.curve is Curve.EXPONENTIAL:
        return math.exp(max(-signal.rate_per_day * age, -700))
    if signal.curve is Curve.HYPERBOLIC:
        return 1 / (1 + age / half_life)
    return max(0.0, 1 - age / (2 * half_life))


@pytest.mark.parametrize(
    "profile",
    [profiles.five_factor, profiles.half_life, profiles.trust, profiles.last_access, DECAYING],
    ids=lambda one: one.name,
)
def test_recency_by_another_half_life_follows_from_ages(world: World, profile: Profile) -> None:
    other = profile.with_half_life(3.5)
    clock = other.find(Recency) or (other.decay and other.decay.recency)
    assert clock
    name = "decay" if other.find(Recency) is None else "recency"
    floor = other.decay.floor if other.decay and name == "decay" else 0.0
    arguments = asked("words and a vector")
    n = 30
    found = candidates(world.repository, AGENT, profile=profile, n=n, **arguments | {"k": 5})
    hits = world.repository.search(AGENT, profile=other, touch=False, **arguments)
    anew = {one.memory.id: one.signals[name] for one in hits}
    for one in found.memories:
        value = floor + (1 - floor) * curve(clock, one.age_days[name])
        assert value == pytest.approx(anew[one.memory.id], abs=EXACT)
    bound = found.decay if name == "decay" else found.signals[name]
    assert bound
    assert bound.nth_age_days is not None
    there = {one.memory.id for one in found.memories}
    most = floor + (1 - floor) * curve(clock, bound.nth_age_days)
    assert max(value for one, value in anew.items() if one not in there) <= most + EXACT


def test_a_large_owner_has_the_same_candidates(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its statement is another one, planned for each search."""

    def found() -> list[Candidates]:
        every = (asked(question) | {"k": 5} for question in QUESTIONS)
        return [
            candidates(
                world.repository, AGENT, n=20, profile=profile, by_signal=by_signal, **arguments
            )
            for arguments in every
            for profile in (profiles.hybrid, profiles.tiered, DECAYING)
            for by_signal in (True, False)
        ]

    def as_large(tables: Tables, search: Search, n: int, *, by_signal: bool) -> Run:
        return candidates_of(tables, replace(search, is_large=True), n, by_signal=by_signal)

    of_small = found()
    monkeypatch.setattr(shortlisting, "candidates_of", as_large)
    assert found() == of_small


@pytest.mark.parametrize("profile", [profiles.hybrid, DECAYING], ids=lambda one: one.name)
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_best_by_the_profile_alone_are_the_first_of_all(
    world: World, question: str, profile: Profile
) -> None:
    arguments = asked(question) | {"k": 5, "n": 20, "profile": profile}
    every = candidates(world.repository, AGENT, **arguments)
    alone = candidates(world.repository, AGENT, by_signal=False, **arguments)
    assert alone.memories == every.memories[:20]
    assert [one.has_value for one in alone.signals.values() if every.total] == [
        one.has_value for one in every.signals.values() if every.total
    ]
    is_all = every.total == len(alone.memories)
    assert alone.total == (every.total if is_all else None)
    for name, signal in every.signals.items():
        if signal.nth is not None and not is_all:
            assert alone.signals[name].nth >= signal.nth  # type: ignore[operator]
            assert (alone.signals[name].nth_age_days or 0) <= (signal.nth_age_days or 0)


def test_what_has_no_more_of_a_signal_than_its_nth_memory_is_no_candidate(
    repo: MemoryRepository, agent: str
) -> None:
    """Nearly all memories of an owner have the same confidence, and most none of the words."""
    profile = Profile("three", {Similarity(): 0.5, Keyword(): 0.25, Importance(): 0.25})
    repo.add_many(
        agent,
        [
            NewMemory(f"Number {n}.", embedding=at(n), importance=0.9 if n < 3 else 0.4)
            for n in range(60)
        ],
    )
    repo.add(agent, NewMemory("The tram.", embedding=at(90), importance=0.4))
    found = candidates(repo, agent, at(30.2), keywords="tram", profile=profile, n=5, k=2)
    assert {one.memory.content for one in found.memories} == {
        *(f"Number {n}." for n in (0, 1, 2, 29, 30, 31, 32)),
        "The tram.",
    }
    assert (found.total, found.signals["importance"].nth) == (61, 0.4)
    assert found.signals["keyword"].nth == 0.0


def test_candidates_say_which_terms_they_have(repo: MemoryRepository, agent: str) -> None:
    both = repo.add(agent, NewMemory("The rain dances on the fires.", embedding=at(0)))
    none = repo.add(agent, NewMemory("Snow.", embedding=at(1)))
    found = candidates(repo, agent, at(0), keywords="fire, rain and nothing else", profile="hybrid")
    assert {one.memory.id: one.terms for one in found.memories} == {
        both: ["fire", "rain"],
        none: [],
    }
    assert (found.total, found.signals["keyword"].nth) == (2, None)
    assert repo.get(agent, both).retrieval_count == 0  # type: ignore[union-attr]


def test_what_depends_on_other_scores_is_refused(repo: MemoryRepository, agent: str) -> None:
    for arguments in (
        {"min_score": 0.5},
        {"surrounding_turns": 1},
    ):
        with pytest.raises(InputError, match=f"leave out .*{[*arguments][-1]}"):
            candidates(repo, agent, at(0), **arguments)
    for n in (0, 1_001, True, "3"):
        with pytest.raises(InputError, match="n must"):
            candidates(repo, agent, at(0), n=n)
    found = candidates(repo, agent, at(0), n=2, k=7, profile="trust")
    assert (found.memories, found.total) == ([], 0)
