from __future__ import annotations

import pickle
from typing import Any

import pytest

from pgrecall import Profile, profiles
from pgrecall.errors import InvalidProfile, UnknownName
from pgrecall.scoring.signals import Confidence, Frequency, Recency, Similarity, Usefulness

HALVES = {Similarity(): 0.5, Confidence(): 0.5}


@pytest.mark.parametrize(
    "weights", [[0.4, 0.25, 0.2, 0.1, 0.06], [0.5, 0.5, 0.5, 0.5, 0.5], [0.0] * 5]
)
def test_weights_that_do_not_sum_to_one_fail_where_the_profile_is_made(
    weights: list[float],
) -> None:
    signals = [Similarity(), Recency(rate=0.05), Usefulness(), Confidence(), Frequency()]

    with pytest.raises(InvalidProfile, match=r"'mine'.*sum to 1.*they sum to"):
        Profile("mine", dict(zip(signals, weights, strict=True)))


def test_a_rounding_error_in_the_sum_is_forgiven() -> None:
    signals = {Similarity(): 0.7, Recency(rate=1): 0.2, Usefulness(): 0.1}

    assert 0.7 + 0.2 + 0.1 != 1
    assert Profile("mine", dict(signals)).weights["similarity"] == 0.7


@pytest.mark.parametrize("weight", [-0.5, 1.5, float("nan"), float("inf"), 1e-13])
def test_a_weight_outside_0_and_1_is_named(weight: float) -> None:
    with pytest.raises(InvalidProfile, match=f"'mine'.*confidence.*got {weight}"):
        Profile("mine", {Similarity(): 1 - weight if 0 < weight < 1 else 0.5, Confidence(): weight})


def test_what_cannot_be_a_profile_is_refused() -> None:
    weights: list[Any] = [True, "0.5", None, 0.5j]
    for weight in weights:
        with pytest.raises(InvalidProfile, match="confidence must be a number"):
            Profile("mine", {Similarity(): 0.5, Confidence(): weight})
    with pytest.raises(InvalidProfile, match="name"):
        Profile(" ", HALVES)
    with pytest.raises(InvalidProfile, match=r"twice.*similarity, similarity"):
        Profile("mine", {Similarity(missing=0): 0.5, Similarity(missing=1): 0.5})
    clocks: list[Any] = ["search", None, True, []]
    for accessed_by in clocks:
        with pytest.raises(InvalidProfile, match=r"'mine'.*must be retrieval or use, got"):
            Profile("mine", dict(HALVES), accessed_by=accessed_by)


def test_a_profile_is_a_value() -> None:
    one, other = Profile("mine", dict(HALVES)), Profile("mine", dict(HALVES))

    assert one == other
    assert hash(one) == hash(other)
    assert one != Profile("yours", dict(HALVES))
    assert one != Profile("mine", dict(HALVES), accessed_by="use")
    for profile in profiles.BUILT_IN.values():
        assert pickle.loads(pickle.dumps(profile)) == profile


def test_a_derived_profile_keeps_what_moves_its_clock() -> None:
    derived = profiles.trust.with_weights(trust=0.5, similarity=0.5).renamed("mine")

    assert derived.accessed_by == derived.without_trust_decay().accessed_by == "use"
    assert {p.name for p in profiles.BUILT_IN.values() if p.accessed_by == "use"} == {"trust"}


def test_a_profile_cannot_be_changed() -> None:
    given = dict(HALVES)
    profile = Profile("mine", given)

    given[Similarity()] = 1.0

    assert profile.weights["similarity"] == 0.5
    with pytest.raises(TypeError):
        profile.signals[Similarity()] = 1.0  # type: ignore[index]


def test_with_weights_leaves_the_rest_at_zero() -> None:
    changed = profiles.five_factor.with_weights(similarity=0.75, recency=0.25)

    assert changed.weights == {
        "similarity": 0.75,
        "recency": 0.25,
        "usefulness": 0,
        "confidence": 0,
        "frequency": 0,
    }
    assert profiles.five_factor.weights["similarity"] == 0.40


def test_with_weights_names_the_signals_there_are() -> None:
    with pytest.raises(UnknownName, match=r"charm.*similarity, recency, usefulness"):
        profiles.five_factor.with_weights(charm=1)


def test_a_profile_is_found_by_name() -> None:
    assert profiles.named("five_factor") is profiles.five_factor
    with pytest.raises(UnknownName, match=r"'six_factor'.*five_factor"):
        profiles.named("six_factor")
