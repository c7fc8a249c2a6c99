"""What the measurements are compared with."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import contenders
from benchmarks.measuring import Timing


@dataclass(frozen=True)
class Goal:
    """`numerator` over `denominator`, within a bound if there is one.

    The median of the ratios within a round: what disturbs a round disturbs both.
    """

    what: str
    numerator: str
    denominator: str
    at_most: float | None = None
    at_least: float | None = None

    def ratio(self, timings: Mapping[str, Timing]) -> float:
        rounds = zip(
            timings[self.numerator].seconds, timings[self.denominator].seconds, strict=True
        )
        return statistics.median(above / below for above, below in rounds)

    def is_met(self, ratio: float) -> bool | None:
        if self.at_most is not None:
            return ratio <= self.at_most
        if self.at_least is not None:
            return ratio >= self.at_least
        return None

    @property
    def bound(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return ""


PROFILE_GOALS = tuple(
    Goal(f"{profile} over five_factor", profile, contenders.COMPOSITE, at_most=1.6)
    for profile in contenders.PROFILES
)

GOALS = (
    Goal(
        "five_factor over cosine distance, same filters",
        contenders.COMPOSITE,
        contenders.COSINE,
        at_most=1.3,
    ),
    Goal(
        "five_factor over cosine distance, agent_id alone",
        contenders.COMPOSITE,
        contenders.COSINE_UNFILTERED,
        at_most=1.3,
    ),
    Goal("inner product over cosine distance", contenders.INNER, contenders.COSINE_UNFILTERED),
    Goal("five_factor over rows of nothing else", contenders.COMPOSITE, contenders.NARROW),
    Goal(
        "fetching and NumPy over five_factor",
        contenders.FETCHING,
        contenders.COMPOSITE,
        at_least=10,
    ),
    Goal(
        "same, only the columns ranked by",
        contenders.FETCHING_NARROW,
        contenders.COMPOSITE,
    ),
    Goal("repository over bare psycopg", contenders.COMPOSITE, contenders.BARE, at_most=1.3),
    Goal(
        "repository over bare psycopg, touch",
        contenders.COMPOSITE_TOUCH,
        contenders.BARE_TOUCH,
        at_most=1.3,
    ),
    Goal("not inlined over inlined", contenders.NOT_INLINED, contenders.BARE),
    *PROFILE_GOALS,
)
