"""The built-in profiles."""

from __future__ import annotations

from pgrecall.errors import UnknownName
from pgrecall.profile import Profile
from pgrecall.signals import Confidence, Frequency, Recency, Similarity, Usefulness

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
"""The five-factor scorer of the IBEX harness, and the default. Its weights are constants: they
change only with a new ADR and a new evaluation (ADR-0040). A wrong set fails this import."""

BUILT_IN: dict[str, Profile] = {profile.name: profile for profile in (five_factor,)}


def named(name: str) -> Profile:
    """The built-in profile of this name; raises UnknownName with the list of names."""
    try:
        return BUILT_IN[name]
    except KeyError:
        raise UnknownName(
            f"unknown profile {name!r}; the built-in profiles are {', '.join(BUILT_IN)}"
        ) from None
