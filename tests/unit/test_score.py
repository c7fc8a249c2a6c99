from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import exp, fsum
from typing import Any

import pytest

from pgrecall import profiles, score
from pgrecall.errors import InputError, UnknownName

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
NAIVE = NOW.replace(tzinfo=None)


def test_values_left_out_or_none_count_as_the_columns_defaults() -> None:
    defaults = {
        "similarity": 0.0,
        "recency": 0.5,
        "usefulness": 0.5,
        "confidence": 0.8,
        "frequency": 0.0,
    }
    names = ["similarity", "created_at", "last_accessed_at", "usefulness", "confidence"]
    nothing = dict.fromkeys([*names, "retrieval_count"])

    assert score(profiles.five_factor, {}, as_of=NOW).signals == defaults
    assert score(profiles.five_factor, nothing, as_of=NOW) == score(profiles.five_factor, {})


def test_the_score_is_the_sum_of_its_contributions_at_full_precision() -> None:
    values = {"similarity": 1 / 3, "usefulness": 0.7, "created_at": NOW - timedelta(days=2)}

    result = score(profiles.five_factor, values, as_of=NOW)

    by_hand = 0.4 / 3 + 0.25 * exp(-0.1) + 0.2 * 0.7 + 0.1 * 0.8
    assert result.score == pytest.approx(by_hand, abs=1e-15)
    assert result.score == fsum(result.contributions.values()) != round(result.score, 6)


def test_ages_are_measured_now_unless_a_moment_is_given() -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)

    result = score(profiles.five_factor, {"created_at": yesterday})

    assert result.signals["recency"] == pytest.approx(exp(-0.05), abs=1e-4)


def test_an_unknown_value_is_named_with_those_there_are() -> None:
    with pytest.raises(
        UnknownName, match=r"relevance.*created_at, observed_at, last_accessed_at, similarity"
    ):
        score(profiles.five_factor, {"relevance": 1})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"created_at": NAIVE}, r"time zone|datetime"),
        ({"created_at": "2026-01-01"}, r"time zone|datetime"),
        *(
            ({name: value}, name)
            for name in ("similarity", "usefulness", "confidence", "retrieval_count")
            for value in (float("nan"), "0.5")
        ),
        *(({"query_time": bad}, "two datetimes") for bad in (NOW, (NOW,), (NOW, None))),
        ({"query_time": (NAIVE, NOW)}, "query_time must.*with a time zone"),
        ({"query_time": (NOW, NOW)}, "query_time must.*end after it begins"),
    ],
)
def test_a_value_that_cannot_be_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        score(profiles.hybrid, values, as_of=NOW)


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(InputError, match=r"time zone|datetime"):
        score(profiles.five_factor, {"created_at": NOW}, as_of=NAIVE)
