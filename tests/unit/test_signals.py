from __future__ import annotations

from math import log
from typing import Any

import pytest

from pgrecall import Profile, score
from pgrecall.errors import InvalidProfile
from pgrecall.score_function import score_functions
from pgrecall.signals import KINDS, Clock, Frequency, Recency, Signal, Similarity

NAN, INF = float("nan"), float("inf")


def test_rate_is_ln_2_over_half_life() -> None:
    assert Recency(half_life=14).rate_per_day == pytest.approx(log(2) / 14)
    assert Recency(rate=0.05).rate_per_day == 0.05


@pytest.mark.parametrize("arguments", [{}, {"rate": 0.05, "half_life": 14}])
def test_recency_takes_rate_or_half_life(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidProfile, match=r"either rate .* or half_life"):
        Recency(**arguments)


@pytest.mark.parametrize("half_life", [0, -1, NAN, 1e-300])
def test_a_half_life_that_cannot_be_is_refused(half_life: float) -> None:
    with pytest.raises(InvalidProfile, match="recency"):
        Recency(half_life=half_life)


@pytest.mark.parametrize("rate", [-0.05, NAN, INF, 1e10])
def test_a_rate_that_cannot_be_is_refused(rate: float) -> None:
    with pytest.raises(InvalidProfile, match=r"recency: the rate.*got"):
        Recency(rate=rate)


@pytest.mark.parametrize("clock", ["updated_at", "", None])
def test_an_unknown_clock_is_refused_with_the_clocks(clock: Any) -> None:
    with pytest.raises(InvalidProfile, match="created_at, last_accessed_at, latest"):
        Recency(rate=0.05, clock=clock)


def test_a_clock_may_be_named() -> None:
    assert Recency(rate=0.05, clock="latest") == Recency(rate=0.05, clock=Clock.LATEST)  # type: ignore[arg-type]


@pytest.mark.parametrize("cap", [0, 0.5, -1, NAN, INF, 1e10])
def test_a_cap_that_cannot_be_is_refused(cap: float) -> None:
    with pytest.raises(InvalidProfile, match="frequency: cap"):
        Frequency(cap=cap)


@pytest.mark.parametrize("share", [-0.1, 1.1, NAN, INF])
def test_a_substitute_outside_0_and_1_is_refused(share: float) -> None:
    with pytest.raises(InvalidProfile, match="similarity: missing"):
        Similarity(missing=share)
    with pytest.raises(InvalidProfile, match="recency: unknown"):
        Recency(rate=0.05, unknown=share)


@pytest.mark.parametrize(
    ("clock", "reads"),
    [(Clock.CREATED_AT, False), (Clock.LAST_ACCESSED_AT, True), (Clock.LATEST, True)],
)
def test_recency_reads_usage_only_for_clocks_that_need_it(clock: Clock, *, reads: bool) -> None:
    assert Recency(rate=0.05, clock=clock).reads_usage is reads


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind is not Recency])
def test_a_signal_is_known_everywhere_and_says_what_it_reads(kind: type[Signal]) -> None:
    signal = kind()
    profile = Profile("mine", {signal: 1})

    written = score_functions(profile)

    assert ("u." in written) is signal.reads_usage
    assert 0 <= score(profile, {}).score <= 1
