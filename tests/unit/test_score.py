from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import exp, fsum
from typing import Any

import pytest

from pgrecall import Profile, profiles, score
from pgrecall.errors import InputError, UnknownName
from pgrecall.signals import Clock, Recency

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_values_left_out_count_as_the_columns_defaults() -> None:
    assert score(profiles.five_factor, {}, as_of=NOW).signals == {
        "similarity": 0.0,
        "recency": 0.5,
        "usefulness": 0.5,
        "confidence": 0.8,
        "frequency": 0.0,
    }


def test_none_counts_as_left_out() -> None:
    names = ["similarity", "created_at", "last_accessed_at", "usefulness", "confidence"]
    nothing = dict.fromkeys([*names, "retrieval_count"])

    assert score(profiles.five_factor, nothing, as_of=NOW) == score(profiles.five_factor, {})


def test_the_score_is_the_sum_of_weight_times_signal() -> None:
    values = {"similarity": 0.9, "usefulness": 0.7, "confidence": 0.3, "retrieval_count": 10}

    result = score(
        profiles.five_factor, {**values, "created_at": NOW - timedelta(days=2)}, as_of=NOW
    )

    by_hand = 0.4 * 0.9 + 0.25 * exp(-0.1) + 0.2 * 0.7 + 0.1 * 0.3 + 0.05 * 0.2
    assert result.score == pytest.approx(by_hand, abs=1e-15)
    assert result.score == fsum(result.contributions.values())


def test_ages_are_measured_now_unless_a_moment_is_given() -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)

    result = score(profiles.five_factor, {"created_at": yesterday})

    assert result.signals["recency"] == pytest.approx(exp(-0.05), abs=1e-4)


@pytest.mark.parametrize(
    ("clock", "accessed_days", "age"),
    [
        (Clock.CREATED_AT, 1, 10),
        (Clock.LAST_ACCESSED_AT, 1, 1),
        (Clock.LAST_ACCESSED_AT, None, 10),
        (Clock.LATEST, 1, 1),
        (Clock.LATEST, 20, 10),
        (Clock.LATEST, None, 10),
    ],
)
def test_a_decay_runs_from_its_clock(clock: Clock, accessed_days: int | None, age: int) -> None:
    profile = Profile("mine", {Recency(rate=0.1, clock=clock): 1})
    accessed = None if accessed_days is None else NOW - timedelta(days=accessed_days)
    values = {"created_at": NOW - timedelta(days=10), "last_accessed_at": accessed}

    assert score(profile, values, as_of=NOW).score == pytest.approx(exp(-0.1 * age))


@pytest.mark.parametrize(
    ("half_life", "days", "recency"), [(14, 0, 1), (14, 14, 0.5), (14, 28, 0.25), (14, 56, 0.0625)]
)
def test_a_half_life_halves(half_life: float, days: int, recency: float) -> None:
    profile = Profile("mine", {Recency(half_life=half_life): 1})

    result = score(profile, {"created_at": NOW - timedelta(days=days)}, as_of=NOW)

    assert result.score == pytest.approx(recency)


def test_an_unknown_value_is_named_with_those_there_are() -> None:
    with pytest.raises(
        UnknownName, match=r"relevance.*created_at, observed_at, last_accessed_at, similarity"
    ):
        score(profiles.five_factor, {"relevance": 1})


@pytest.mark.parametrize(
    ("values", "as_of"),
    [
        ({"created_at": NOW.replace(tzinfo=None)}, NOW),
        ({"created_at": NOW}, NOW.replace(tzinfo=None)),
        ({"created_at": NOW.replace(tzinfo=None)}, NOW.replace(tzinfo=None)),
        ({"created_at": "2026-01-01"}, NOW),
    ],
)
def test_a_time_without_a_zone_is_refused(values: dict[str, Any], as_of: datetime) -> None:
    with pytest.raises(InputError, match=r"time zone|datetime"):
        score(profiles.five_factor, values, as_of=as_of)


@pytest.mark.parametrize("name", ["similarity", "usefulness", "confidence", "retrieval_count"])
@pytest.mark.parametrize("value", [float("nan"), "0.5"])
def test_a_value_that_is_no_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        score(profiles.five_factor, {name: value}, as_of=NOW)


@pytest.mark.parametrize(
    ("period", "message"),
    [
        (NOW, "two datetimes"),
        ((NOW,), "two datetimes"),
        ((NOW, None), "two datetimes"),
        ((NOW.replace(tzinfo=None), NOW), "with a time zone"),
        ((NOW, NOW), "end after it begins"),
    ],
)
def test_what_is_no_period_is_refused(period: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"query_time must.*{message}"):
        score(profiles.hybrid, {"query_time": period})
