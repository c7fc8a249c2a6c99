"""A decay that multiplies the whole score."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Final

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile
from pgrecall.scoring.signals import Recency

DECAY: Final = "decay"
"""The name of the factor among the values of signals. No signal may have it."""


@dataclass(frozen=True, slots=True)
class Decay:
    """Multiplies the score of a memory by floor + (1 - floor) · recency.

    A signal adds to the score, so an old memory that fits badly loses as much by its age as one
    that fits well. A decay takes the same share from each. `floor`, from 0 to 1, is the share that
    is left however old a memory is.
    """

    recency: Recency
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.recency, Recency):
            raise InvalidProfile(f"decay needs a Recency, got {shortened(self.recency)}")
        floor = self.floor
        if isinstance(floor, bool) or not isinstance(floor, Real) or not 0 <= floor <= 1:
            raise InvalidProfile(f"decay: floor must lie within 0 and 1, got {shortened(floor)}")
        object.__setattr__(self, "floor", float(floor))
