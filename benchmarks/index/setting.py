"""The setting: what holds for all cases of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.contenders import K
from benchmarks.index.memories import Memories
from benchmarks.index.passages import Passages
from pgrecall import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Similarity

AGENT = "agent"

LEANING = profiles.five_factor.with_weights(
    similarity=0.7, recency=0.1, usefulness=0.05, confidence=0.05, frequency=0.1
).renamed("similarity 0.7")
ALONE = Profile("similarity alone", {Similarity(): 1.0})
PROFILES = (
    *(p for p in profiles.BUILT_IN.values() if p is not profiles.hybrid),
    *(LEANING, ALONE),
)
"""But for hybrid, whose questions have words: python -m benchmarks.words."""


@dataclass(frozen=True)
class Setting:
    scale: float
    rounds: int
    seed: int
    now: datetime
    """To which ages are counted."""
    passages_file: Path | None

    def rows(self, full: int) -> int:
        """As many as at this scale; never fewer than there are hits."""
        return max(round(full * self.scale), K)

    def one_agent(self, full: int, **how: Any) -> Memories:
        agents = ((AGENT, self.rows(full)),)
        return Memories(agents, (AGENT,), self.now, self.seed, **how)

    @cached_property
    def passages(self) -> Passages | None:
        """Of the file, if there is one."""
        if self.passages_file is None:
            return None
        return Passages.read(self.passages_file, AGENT, self.scale, self.seed, self.now)
