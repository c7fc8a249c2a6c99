"""The built-in profiles, and profiles from files."""

from __future__ import annotations

from pgrecall.core.quoting import did_you_mean, shortened
from pgrecall.errors import InputError, UnknownName
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
    "trust_stored",
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
"""The five-factor scorer of IBEX Harness. Its weights are constants: they change only with a new
ADR and a new evaluation (ADR-0040). If they do not sum to 1, this import fails."""

last_access = Profile(
    "last_access",
    {
        Similarity(required=True): 0.5,
        Importance(): 0.3,
        Recency(rate=0.05, clock=Clock.LAST_ACCESSED_AT): 0.2,
    },
)
"""Ranks as Siestai does: 0.5 similarity + 0.3 importance + 0.2 exp(-0.05 · t), where t is the days
since the last access, or since creation if there was none. Memories without an embedding are left
out."""

half_life = Profile(
    "half_life",
    {
        Similarity(missing=0.5): 0.4,
        Recency(half_life=14, clock=Clock.LATEST): 0.3,
        Importance(): 0.3,
    },
)
"""The three-signal scorer of RadarOS (now Agentium): 0.4 similarity + 0.3 recency + 0.3 importance.
Recency has a half-life of 14 days since creation or last access, whichever is later; change it by
`with_half_life`. A missing similarity counts as 0.5. To search exactly like the original, pass
`k=20`, `min_score=0.1` and, if you set `weights`, each divided by their sum."""

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
"""Ranks as Grace does: 0.40 trust + 0.35 similarity + 0.15 / (1 + age in hours / 168) +
0.10 importance. Trust decays since the last use by the curve of each row. A search does not restart
this decay; outcomes do."""

trust_stored = Profile(
    "trust_stored",
    {Trust(decay=False) if isinstance(one, Trust) else one: weight for one, weight in trust},
    accessed_by="use",
)
"""As `trust`, with trust as it is stored, before decay."""

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
"""The six-factor scorer of Memory OS: 0.40 similarity + 0.20 recency + 0.15 importance +
0.10 least(retrievals / 20, 1) + 0.10 usefulness + 0.05 entity overlap. Recency counts from the last
access, with half-lives of 6 hours, 7 days and 90 days for the tiers short, medium and long."""

hybrid = Profile(
    "hybrid",
    {
        Similarity(shift=0.6): 0.37,
        Keyword(): 0.37,
        Time(): 0.13,
        EntityOverlap(subject=True): 0.087,
        Usefulness(): 0.017,
        Importance(): 0.013,
        Confidence(): 0.005,
        Frequency(cap=50): 0.004,
        Recency(half_life=90): 0.004,
    },
    redistribute=True,
    min_relevance=0.15,
)
"""The default (ADR-0035, ADR-0071): similarity, shifted by the mean of the owner's memories, and
keyword in equal parts, the period and the names that the query contains, and small weights for
usefulness, importance, confidence, frequency and recency. By default, a context leaves out memories
of little relevance (ADR-0038). The first four have the proportions .425 : .425 : .15 : .10."""

DEFAULT = hybrid

BASELINES = (
    Profile("similarity alone", {Similarity(): 1.0}),
    Profile("keyword alone", {Keyword(): 1.0}),
    hybrid,
)
"""Profiles that every evaluation measures for comparison."""

BUILT_IN: dict[str, Profile] = {
    profile.name: profile
    for profile in (hybrid, five_factor, last_access, half_life, trust, trust_stored, tiered)
}


def named(name: object) -> Profile:
    """The built-in profile of this name; raises UnknownName."""
    if not isinstance(name, str) or name not in BUILT_IN:
        raise UnknownName(
            f"unknown profile {shortened(name)}{did_you_mean([name], BUILT_IN)}; the "
            f"built-in profiles are {', '.join(BUILT_IN)}"
        )
    return BUILT_IN[name]


def is_built_in(profile: Profile) -> bool:
    """True if it is a built-in profile, unchanged."""
    return profile == BUILT_IN.get(profile.name)


def checked_profile(profile: object) -> Profile:
    """A Profile, or the built-in one of this name; raises InputError."""
    if isinstance(profile, str):
        return named(profile)
    if not isinstance(profile, Profile):
        raise InputError(f"profile must be a Profile or a name, got {type(profile).__name__}")
    return profile
