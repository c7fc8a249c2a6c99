"""Term: a word and how characteristic it is of an owner's memories."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Term:
    """A word without its ending, accents and case, in the schema's language: `danc` for dancing."""

    term: str
    memories: int
    """n, the number of the owner's memories that have the term."""
    weight: float
    """Its weight in the keyword signal: ln(1 + (N - n + 0.5) / (n + 0.5)), for N memories."""
    telling: float
    """n / N · weight. Greatest for terms that are frequent, but not in every memory."""

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self)
