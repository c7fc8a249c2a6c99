"""Term: a word as it is compared, and what it says of an owner's memories."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Term:
    """Without its ending, accents and case: `danc` for dancing, by the language of the schema."""

    term: str
    memories: int
    """How many of the owner's memories have it."""
    weight: float
    """In the keyword signal: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    telling: float
    """The share of memories that have it, times its weight: most for what is frequent and yet not
    everywhere."""

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self)
