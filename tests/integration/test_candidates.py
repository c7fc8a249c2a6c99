"""Candidates: their values are those of a search, and the bound says when their order is."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from pgrecall import (
    Candidates,
    Decay,
    InputError,
    InvalidProfile,
    MemoryRepository,
    NewMemory,
    Profile,
    Recency,
    UnknownName,
    profiles,
)
from pgrecall.core.steps import Run
from pgrecall.ranking.composing import ranks
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.signals import Curve, Importance, Keyword, Similarity
from pgrecall.search import shortlisting
from tests.integration.support import NOW, at, before
from tests.integration.test_profiles_agree import AGENT, EVERYTHING, TEAMS, World, about, world_at

EXACT = 1e-11
DECAYING = Profile(
    "decaying",
    {Similarity(): 0.5, Importance(): 0.3, Keyword(): 0.2},
    redistribute=True,
    decay=Decay(Recency(half_life=60, curve=Curve.LINEAR), floor=0.2),
)
PROFILES = [*profiles.BUILT_IN.values(), DECAYING]
QUESTIONS: dict[str, dict[str, Any]] = {
    "words and a vector": about(query_text="great fire and rain"),
    "words alone": about(query=None, query_text="tea with Zoë"),
    "stop words": about(query_text="the"),
    "neither": about(query=None),
    "names": about(query_entities=["Ann", "Zoë"], query_text="Ann"),
    "teams": about(teams=TEAMS, query_text="dancing"),
    "a period": about(query_time=(before(60), before(30)), as_of=before(10)),
    "filters": about(min_similarity=0.1, memory_types=["episodic", "note"], apply_decay=False),
    "nothing passes": about(memory_types=["none"]),
}


@pytest.fixture(scope="module")
def world(module_url: str) -> Iterator[World]:
    with world_at(module_url) as found:
        yield found


def asked(question: str) -> dict[str, Any]:
    return {"as_of": NOW, **QUESTIONS[question]}


def random_weights(dice: random.Random, profile: Profile) -> dict[str, float]:
    names = dice.sample([*profile.weights], dice.randint(1, len(profile.weights)))
    given = {name: dice.random() ** 2 + 1e-3 for name in names}
    total = math.fsum(given.values())
    return {name: weight / total for name, weight in given.items()}


def in_effect(found: Candidates, weights: dict[str, float]) -> dict[str, float]:
    """These weights after redistribution, as the page finds them."""
    profile = found.profile.with_weights(**weights)
    if profile.redistribute:
        missing = [name for name, one in found.signals.items() if not one.has_value]
        profile = profile.without(*missing)
    return profile.weights


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_value_is_that_of_a_search(world: World, question: str, profile: Profile) -> None:
    arguments = asked(question) | {"profile": profile}
    hits = world.repository.search(AGENT, touch=False, strategy="exact", **arguments)
    everything = {one.memory.id: one for one in hits}
    n = 20
    found = world.repository.candidates(AGENT, **arguments | {"k": 5}, n=n)

    assert found.total == len(hits)
    assert [one.memory.id for one in found.memories[:n]] == [one.memory.id for one in hits[:n]]
    for one in found.memories:
        hit = everything[one.memory.id]
        assert one.memory == hit.memory
        assert one.score == pytest.approx(hit.score, abs=EXACT)
        assert one.signals == pytest.approx(hit.signals, abs=EXACT)
        assert (one.similarity, one.relevance) == (hit.similarity, hit.relevance)
        left = one.signals.get("decay", 1)
        by_rule = math.fsum(w * one.signals[name] for name, w in found.weights.items()) * left
        assert by_rule == pytest.approx(hit.score, abs=EXACT)
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


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
def test_an_order_that_is_called_exact_is_that_of_a_search(world: World, profile: Profile) -> None:
    dice = random.Random(profile.name)
    verdicts = set()
    for question, n in product(QUESTIONS, (5, 40)):
        arguments = asked(question) | {"k": 5, "profile": profile}
        found = world.repository.candidates(AGENT, n=n, **arguments)
        for _ in range(6):
            weights = random_weights(dice, profile)
            hits = world.repository.search(AGENT, weights=weights, touch=False, **arguments)
            best, exact = found.ranked(in_effect(found, weights), k=5)
            verdicts.add(exact)
            if exact:
                scores = [score for _, score in best]
                assert scores == pytest.approx([hit.score for hit in hits], abs=EXACT)
                for (one, score), hit in zip(best, hits, strict=True):
                    assert one == hit.memory.id or abs(score - hit.score) <= EXACT
    assert verdicts == {True, False}


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
    found = world.repository.candidates(AGENT, profile=profile, n=n, **arguments | {"k": 5})
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
            world.repository.candidates(
                AGENT, n=20, profile=profile, by_signal=by_signal, **arguments
            )
            for arguments in every
            for profile in (profiles.hybrid, profiles.tiered, DECAYING)
            for by_signal in (True, False)
        ]

    def as_large(tables: Tables, name: str, search: Search, *options: str, **values: Any) -> Run:
        return ranks(tables, name, replace(search, is_large=True), *options, **values)

    of_small = found()
    monkeypatch.setattr(shortlisting, "ranks", as_large)
    assert found() == of_small


@pytest.mark.parametrize("profile", [profiles.hybrid, DECAYING], ids=lambda one: one.name)
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_best_by_the_profile_alone_are_the_first_of_all(
    world: World, question: str, profile: Profile
) -> None:
    arguments = asked(question) | {"k": 5, "n": 20, "profile": profile}
    every = world.repository.candidates(AGENT, **arguments)
    alone = world.repository.candidates(AGENT, by_signal=False, **arguments)
    assert alone.memories == every.memories[:20]
    assert alone.weights == every.weights
    assert [one.has_value for one in alone.signals.values() if every.total] == [
        one.has_value for one in every.signals.values() if every.total
    ]
    is_all = every.total == len(alone.memories)
    assert alone.total == (every.total if is_all else None)
    assert alone.ranked(alone.weights, k=5)[1] is is_all
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
    last = repo.add(agent, NewMemory("The tram.", embedding=at(90), importance=0.4))
    found = repo.candidates(agent, at(30.2), query_text="tram", profile=profile, n=5, k=2)
    assert {one.memory.content for one in found.memories} == {
        *(f"Number {n}." for n in (0, 1, 2, 29, 30, 31, 32)),
        "The tram.",
    }
    assert (found.total, found.signals["importance"].nth) == (61, 0.4)
    assert found.signals["keyword"].nth == 0.0
    best, exact = found.ranked({"keyword": 1.0}, k=1)
    assert (best[0][0], exact) == (last, True)
    assert found.ranked({"keyword": 1.0}, k=2)[1] is False


def test_candidates_say_which_terms_they_have(repo: MemoryRepository, agent: str) -> None:
    both = repo.add(agent, NewMemory("The rain dances on the fires.", embedding=at(0)))
    none = repo.add(agent, NewMemory("Snow.", embedding=at(1)))
    found = repo.candidates(
        agent, at(0), query_text="fire, rain and nothing else", profile="hybrid"
    )
    assert {one.memory.id: one.terms for one in found.memories} == {
        both: ("fire", "rain"),
        none: (),
    }
    assert (found.total, found.n, found.signals["keyword"].nth) == (2, 100, None)
    assert repo.get(agent, both).retrieval_count == 0  # type: ignore[union-attr]


def test_what_depends_on_other_scores_is_refused(repo: MemoryRepository, agent: str) -> None:
    for arguments in (
        {"min_score": 0.5},
        {"max_per": {"day": 1}},
        {"expand_session": 1},
        {"expand_session": 1, "lend": 0.5},
    ):
        with pytest.raises(InputError, match=f"leave out .*{[*arguments][-1]}"):
            repo.candidates(agent, at(0), **arguments)
    for n in (0, 1_001, True, "3"):
        with pytest.raises(InputError, match="n must"):
            repo.candidates(agent, at(0), n=n)  # type: ignore[arg-type]
    found = repo.candidates(agent, at(0), n=2, k=7, profile="trust")
    assert (found.n, found.memories, found.total) == (7, [], 0)
    with pytest.raises(UnknownName):
        found.ranked({"taste": 1.0})
    with pytest.raises(InvalidProfile):
        found.ranked({"trust": 2.0})


def test_the_lists_hold_more_than_the_k_best_of_everything(world: World) -> None:
    """The test of the tests: the bound decides, and not that every memory is a candidate."""
    found = world.repository.candidates(AGENT, n=20, **asked("names") | {"k": 5})
    assert found.total is not None
    assert len(found.memories) < found.total < EVERYTHING
    assert found.ranked({"recency": 1.0}, k=20)[1] in (True, False)
    assert found.bound(found.weights) is not None
