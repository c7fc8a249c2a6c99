"""Chooses among ranked memories: within a budget of tokens, and with regard to likeness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

PACKED: Final = "packed"
MAX_SKIPS: Final = 3
"""After so many memories in a row that do not fit, packing stops."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be packed, and of what."""

    most: int
    """Memories, besides turns that come along with them."""
    budget: int | float = math.inf
    """Tokens."""
    min_score: float = 0.0
    max_skips: int = MAX_SKIPS
    reserve: Mapping[str, float] = field(default_factory=dict)
    """Memory type → share of the budget that only its memories may fill."""
    diversity: float = 0.0
    """What is chosen next has the greatest (1 - diversity) · score - diversity · similarity to the
    nearest packed (maximal marginal relevance, Carbonell and Goldstein 1998)."""
    max_similarity: float | None = None
    """What is more similar than this to a packed memory is a near duplicate."""


class Outcome(NamedTuple):
    """What became of a memory."""

    verdict: str
    """PACKED, or the reason for leaving it out."""
    step: int | None = None
    """At which step that was reached."""
    near: int | None = None
    """The place of the memory that it is a near duplicate of, or came along with."""


def pack(
    limits: Limits,
    scores: Sequence[float | None],
    costs: Sequence[int],
    types: Sequence[str],
    *,
    alike: Sequence[Sequence[float]] | None = None,
    turns: Mapping[int, Sequence[int]] | None = None,
) -> list[Outcome | None]:
    """What becomes of the memory at each place.

    `scores` are those of hits, best first; None, at the end, for hits that are not relevant
    enough. Places beyond `scores` are turns that only come along with hits; such a one is None if
    no hit brought it along. `costs` are tokens, `types` memory types. `alike[a][b]` is the
    similarity of two hits. `turns` has, for each hit, the places of what comes along with it, the
    nearest first.
    """
    packing = _Packing(limits, scores, costs, types, alike, turns or {})
    packing.run()
    return packing.outcomes


class _Packing:
    def __init__(
        self,
        limits: Limits,
        scores: Sequence[float | None],
        costs: Sequence[int],
        types: Sequence[str],
        alike: Sequence[Sequence[float]] | None,
        turns: Mapping[int, Sequence[int]],
    ) -> None:
        self.limits, self.scores, self.costs, self.types = limits, scores, costs, types
        self.alike, self.turns = alike, turns
        self.above = 0
        """The hits that reach the thresholds are the first ones; this is their number."""
        for score in scores:
            if score is None or score < limits.min_score:
                break
            self.above += 1
        size = len(costs)
        self.verdicts: list[str | None] = [None] * size
        self.steps: list[int | None] = [None] * size
        self.leaders: list[int | None] = [None] * size
        self.nearest = [0.0] * size
        self.nearest_to: list[int | None] = [None] * size
        self.spent = self.taken = self.skipped = self.step = 0
        self.waiting = dict.fromkeys(range(self.above))
        """Hits that were not looked at, in the order of their scores."""
        self.kept_back: list[int] | None = None
        self.promised = {
            kind: math.floor(share * limits.budget) for kind, share in limits.reserve.items()
        }
        """Type → what is left of its share."""
        self.expected = {
            kind: sum(cost for place, cost in enumerate(costs) if self._may_fill(place, kind))
            for kind in limits.reserve
        }
        """Type → the tokens of its memories that may still be packed: what they cannot fill of
        their share is free for all."""

    def _may_fill(self, place: int, kind: str) -> bool:
        fits = self.costs[place] <= self.limits.budget
        return place < self.above and self.types[place] == kind and fits

    def run(self) -> None:
        """Looks at one hit after the other until enough is packed or nothing more would fit."""
        while self.taken < self.limits.most and (hit := self._next()) is not None:
            if self.verdicts[hit] == PACKED:  # it came along before, and is a hit itself
                self.leaders[hit] = None
                self._take(hit)
            elif self._fits(hit):
                self._take(hit)

    def _take(self, hit: int) -> None:
        """Counts a packed hit, and packs what fits of its turns."""
        self.taken += 1
        self.skipped = 0
        for turn in self.turns.get(hit, ()):
            if self.verdicts[turn] is None and self._fits(turn, comes_along=True):
                self.leaders[turn] = hit

    def _next(self) -> int | None:
        """The hit to look at; None if there is none any more."""
        if self.kept_back is None:
            if self.waiting and self.skipped < self.limits.max_skips:
                self.step += 1
                hit = self._best()
                del self.waiting[hit]
                if self.verdicts[hit] != PACKED:
                    self.steps[hit] = self.step
                return hit
            # Nothing else is looked at: what was reserved and not used is free for all.
            held = [n for n in range(self.above) if self.verdicts[n] == "reserved"]
            self.kept_back = sorted(held, key=lambda place: self.steps[place] or 0)
            self.expected = dict.fromkeys(self.expected, 0)
        if not self.kept_back:
            return None
        self.step += 1
        return self.kept_back.pop(0)

    def _best(self) -> int:
        share = self.limits.diversity
        if not share:
            first: int = next(iter(self.waiting))
            return first
        best, best_gain = -1, -math.inf
        for place in self.waiting:
            gain = (1 - share) * (self.scores[place] or 0.0) - share * self.nearest[place]
            if gain > best_gain:
                best, best_gain = place, gain
        return best

    def _fits(self, place: int, *, comes_along: bool = False) -> bool:
        """Packs a memory if it fits; if not, notes why."""
        cost, kind, limits = self.costs[place], self.types[place], self.limits
        fills = kind in self.promised and self._may_fill(place, kind)
        most_alike = limits.max_similarity
        if not comes_along and most_alike is not None and self.nearest[place] > most_alike:
            if fills:
                self.expected[kind] -= cost
            self.verdicts[place] = self.verdicts[place] or "near_duplicate"
            return False
        kept = sum(
            max(min(promised, self.expected[other]), 0)
            for other, promised in self.promised.items()
            if other != kind
        )
        if self.spent + cost + kept <= limits.budget:
            if fills:
                self.expected[kind] -= cost
            self._pack(place)
            return True
        if comes_along and place < len(self.scores):
            return False  # it is a hit itself: it is looked at later, or is below a threshold
        if self.spent + cost <= limits.budget:
            self.verdicts[place] = "reserved"  # no skip: memories of that type may come later
            return False
        if fills:
            self.expected[kind] -= cost
        self.verdicts[place] = self.verdicts[place] or "too_long"
        self.skipped += not comes_along
        return False

    def _pack(self, place: int) -> None:
        self.verdicts[place] = PACKED
        self.steps[place] = self.step
        self.spent += self.costs[place]
        if (kind := self.types[place]) in self.promised:
            self.promised[kind] -= self.costs[place]
        if self.alike is None or place >= len(self.alike):
            return
        for other in range(self.above):
            is_nearer = self.alike[place][other] > self.nearest[other]
            if self.verdicts[other] in (None, "reserved") and is_nearer:
                self.nearest[other], self.nearest_to[other] = self.alike[place][other], place

    @property
    def outcomes(self) -> list[Outcome | None]:
        """What became of each; a turn that no hit brought along is None."""
        last = "limit" if self.taken >= self.limits.most else "stopped"
        found: list[Outcome | None] = []
        for place, verdict in enumerate(self.verdicts):
            if verdict is None and place >= len(self.scores):
                found.append(None)
                continue
            if verdict is None:
                verdict = last if place < self.above else "min_score"
                if self.scores[place] is None:
                    verdict = "min_relevance"
            near = {"near_duplicate": self.nearest_to, PACKED: self.leaders}.get(verdict)
            step = self.steps[place]
            found.append(Outcome(verdict, step, None if near is None else near[place]))
        return found
