"""Bands of importance: what a model that extracts memories should give which number.

Importance is the caller's: nothing here changes a score. `instructions` explains the bands to the
model, as a part of the prompt for extraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["MEMORY_OS", "RADAROS", "RADAROS_SIGNS", "Band", "instructions"]


@dataclass(frozen=True, slots=True)
class Band:
    """A range of importance, and what belongs there."""

    least: float
    most: float
    what: str

    def __contains__(self, importance: float) -> bool:
        return self.least <= importance <= self.most


RADAROS: Final = (
    Band(0.8, 1.0, "high: who the user is, what must never be forgotten or done wrong"),
    Band(0.5, 0.7, "medium: what will help in many conversations to come"),
    Band(0.1, 0.4, "low: what may help some day"),
)
"""The three bands of RadarOS."""
RADAROS_SIGNS: Final = (
    Band(0.8, 1.0, "the user says that it is important"),
    Band(0.6, 0.8, "it is about work or business"),
    Band(0.4, 0.6, "it is a preference, or a pattern that comes again"),
    Band(0.1, 0.3, "it was said in passing, or once"),
)
"""The signs of importance that RadarOS names. What contradicts or updates a memory gets at least
the importance of that memory; `supersede` sees to it."""
MEMORY_OS: Final = (
    Band(0.7, 0.9, "important: decisions, and facts about the user that last"),
    Band(0.5, 0.5, "ordinary: the default"),
    Band(0.2, 0.4, "passing: small talk, and what only matters today"),
)
"""The bands of Memory OS."""


def instructions(bands: Sequence[Band] = RADAROS_SIGNS) -> str:
    """Lines for the prompt of a model that extracts memories, one for each band."""
    lines = [f"- {_numbers(band)}: {band.what}" for band in bands]
    return "\n".join(
        [
            "Give each memory an importance, a number from 0 to 1:",
            *lines,
            "- If it contradicts or updates a memory that is known: at least the importance of "
            "that one",
            "If several of these fit, take the highest. If you are not sure, take 0.5.",
        ]
    )


def _numbers(band: Band) -> str:
    if band.least == band.most:
        return f"{band.least:.1f}"
    return f"{band.least:.1f} to {band.most:.1f}"
