"""Rows of the statements that rank, as hits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from pgrecall.core.memory import leading_memory
from pgrecall.scoring.profile import Profile, contributions
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.scoring.signals import DECAY, EntityOverlap, Keyword


def place(scored: ScoredMemory) -> tuple[float, UUID]:
    """Sorts hits: best first, ties by id."""
    return -scored.score, scored.memory.id


def hit(profile: Profile, row: Any) -> ScoredMemory:
    """Converts a row of the search statement."""
    return next(hits_of(profile, [row]))


def hits_of(profile: Profile, rows: Iterable[Any]) -> Iterator[ScoredMemory]:
    """Converts rows of the search statement."""
    weights = profile.weights
    names = [*weights] if profile.decay is None else [*weights, DECAY]
    without: list[str] = []
    for row in rows:
        if profile.redistribute and (missing := missing_in(row)) != without:
            without, weights = missing, profile.without(*missing).weights
        signals = dict(zip(names, row.signals, strict=True))
        yield ScoredMemory(
            memory=leading_memory(row),
            score=row.score,
            similarity=None if row.cosine is None else max(row.cosine, 0.0),
            cosine=row.cosine,
            signals=signals,
            contributions=contributions(weights, signals),
            hops=getattr(row, "hops", 0),
            relevance=getattr(row, "relevance", None),
            attached_to=getattr(row, "attached_to", None),
        )


def in_effect(profile: Profile, row: Any) -> Profile:
    """The profile by which the row was scored, after redistribution of weights."""
    missing = missing_in(row) if profile.redistribute else ()
    return profile.without(*missing) if missing else profile


def missing_in(row: Any) -> list[str]:
    """The signals for which the query turned out to have no value."""
    missing = []
    if not getattr(row, "has_terms", True):
        missing.append(Keyword.name)
    if not getattr(row, "names", 1):
        missing.append(EntityOverlap.name)
    return missing
