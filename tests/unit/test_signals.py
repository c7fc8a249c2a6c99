from __future__ import annotations

from math import log
from typing import Any

import pytest

from pgrecall import Profile, score
from pgrecall.errors import InvalidProfile
from pgrecall.migrate.score_function import score_functions
from pgrecall.scoring.signals import KINDS, Clock, Frequency, Recency, Signal, Similarity

NAN, INF = float("nan"), float("inf")


def test_rate_is_ln_2_over_half_life_and_a_clock_may_be_named() -> None:
    assert Recency(half_life=14).rate_per_day == pytest.approx(log(2) / 14)
    assert Recency(rate=0.05).rate_per_day == 0.05
    assert Recency(rate=0.05, clock="latest") == Recency(rate=0.05, clock=Clock.LATEST)  # type: ignore[arg-type]


BAD: tuple[tuple[type[Signal], dict[str, Any], str], ...] = (
    (Recency, {}, r"either rate .* or half_life"),
    (Recency, {"rate": 0.05, "half_life": 14}, r"either rate .* or half_life"),
    *((Recency, {"half_life": bad}, "recency") for bad in (0, -1, NAN, 1e-300)),
    *((Recency, {"rate": bad}, r"recency: the rate.*got") for bad in (-0.05, NAN, INF, 1e10)),
    *(
        (Recency, {"rate": 0.05, "clock": bad}, "created_at, last_accessed_at, latest")
        for bad in ("updated_at", "", None)
    ),
    (Recency, {"rate": 0.05, "curve": "linear"}, "needs half_life, not rate"),
    *((Frequency, {"cap": bad}, "frequency: cap") for bad in (0, 0.5, -1, NAN, INF, 1e10)),
    *((Similarity, {"missing": bad}, "similarity: missing") for bad in (-0.1, 1.1, NAN, INF)),
    *((Recency, {"rate": 1, "unknown": bad}, "recency: unknown") for bad in (-0.1, 1.1, NAN, INF)),
)


@pytest.mark.parametrize(("kind", "arguments", "message"), BAD)
def test_a_parameter_that_cannot_be_is_refused(
    kind: type[Signal], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidProfile, match=message):
        kind(**arguments)


def test_recency_reads_usage_only_for_clocks_that_need_it() -> None:
    reads = {clock: Recency(rate=0.05, clock=clock).reads_usage for clock in Clock}

    assert reads == {Clock.CREATED_AT: False, Clock.LAST_ACCESSED_AT: True, Clock.LATEST: True}


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind is not Recency])
def test_a_signal_is_known_everywhere_and_says_what_it_reads(kind: type[Signal]) -> None:
    signal = kind()
    profile = Profile("mine", {signal: 1})

    written = score_functions(profile)

    assert ("u." in written) is signal.reads_usage
    assert 0 <= score(profile, {}).score <= 1
