"""The built-in profiles, and those of files."""

from __future__ import annotations

from pgrecall.core.quoting import shortened
from pgrecall.errors import UnknownName
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import load, save
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
    Usefulness,
)

__all__ = [
    "BUILT_IN",
    "five_factor",
    "half_life",
    "hybrid",
    "last_access",
    "load",
    "named",
    "save",
    "tiered",
    "trust",
]

five_factor = Profile(
    "five_factor",
    {
        Similarity(missing=0.0): 0.40,
        Recency(rate=0.05, unknown=0.5): 0.25,
        Usefulness(): 0.20,
        Confidence(): 0.10,
        Frequency(cap=50): 0.05,
    },
)
"""The five-factor scorer of the IBEX harness. Its weights are constants: they
change only with a new ADR and a new evaluation (ADR-0040). A wrong set fails this import."""

last_access = Profile(
    "last_access",
    {
        Similarity(required=True): 0.5,
        Importance(): 0.3,
        Recency(rate=0.05, clock=Clock.LAST_ACCESSED_AT): 0.2,
    },
)
"""Importance and last access, as Siestai ranks: 0.5 similarity + 0.3 importance +
0.2 exp(-0.05 · days since the last access, or since creation where there was none). Memories
without an embedding are left out."""

half_life = Profile(
    "half_life",
    {
        Similarity(missing=0.5): 0.4,
        Recency(half_life=14, clock=Clock.LATEST): 0.3,
        Importance(): 0.3,
    },
)
"""The three-signal scorer of RadarOS (now Agentium): 0.4 similarity + 0.3 recency +
0.3 importance, half-life 14 days, settable, since creation or last access, whichever is later;
a missing similarity counts 0.5. The original takes 20 memories (`k=20`) of at least 0.1
(`min_score=0.1`) and normalises other weights by their sum (`normalise_weights=True`)."""

trust = Profile(
    "trust",
    {
        Trust(): 0.40,
        Similarity(): 0.35,
        Recency(half_life=7, curve=Curve.HYPERBOLIC): 0.15,
        Importance(): 0.10,
    },
    accessed_by="use",
)
"""Trust-scored memory, as Grace ranks: 0.40 trust, decayed since the last use by each row's own
curve, + 0.35 similarity + 0.15 · 1 / (1 + age in hours / 168) + 0.10 importance. A search does not
reset the decay it ranks by: outcomes do."""

tiered = Profile(
    "tiered",
    {
        Similarity(): 0.40,
        Recency(
            half_life=90,
            clock=Clock.LAST_ACCESSED_AT,
            half_lives_by_tier=(("short", 0.25), ("medium", 7.0), ("long", 90.0)),
        ): 0.20,
        Importance(): 0.15,
        Frequency(cap=20): 0.10,
        Usefulness(): 0.10,
        EntityOverlap(): 0.05,
    },
)
"""The six-factor scorer of Memory OS: 0.40 similarity + 0.20 recency since the last access, with
half-lives of 6 hours, 7 days and 90 days for the tiers short, medium and long, + 0.15 importance +
0.10 least(retrievals / 20, 1) + 0.10 feedback (usefulness) + 0.05 share of the query's entities."""

hybrid = Profile(
    "hybrid",
    {
        Similarity(): 0.425,
        Keyword(): 0.425,
        Time(): 0.10,
        Usefulness(): 0.02,
        Importance(): 0.015,
        Confidence(): 0.005,
        Frequency(cap=50): 0.005,
        Recency(half_life=90): 0.005,
    },
    redistribute=True,
    min_relevance=0.08,
)
"""Meaning and words in equal parts, the period that the query names, and a little of what is known
of the memory itself: feedback, importance, confidence, use and age. The default (ADR-0035). A
context of it leaves out what has next to nothing to do with the query (ADR-0038)."""

DEFAULT = hybrid

BASELINES = (
    Profile("similarity alone", {Similarity(): 1.0}),
    Profile("keyword alone", {Keyword(): 1.0}),
    hybrid,
)
"""What an evaluation measures beside the profiles that it is asked about."""

BUILT_IN: dict[str, Profile] = {
    profile.name: profile
    for profile in (hybrid, five_factor, last_access, half_life, trust, tiered)
}


def named(name: object) -> Profile:
    """The built-in profile of this name; raises UnknownName with the list of names."""
    if not isinstance(name, str) or name not in BUILT_IN:
        raise UnknownName(
            f"unknown profile {shortened(name)}; the built-in profiles are {', '.join(BUILT_IN)}"
        )
    return BUILT_IN[name]
