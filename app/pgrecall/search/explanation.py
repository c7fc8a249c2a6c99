"""Why a memory was returned, or why it was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgrecall.core.dates import Period, period_record
from pgrecall.scoring.scored_memory import RECORD_DECIMALS, ScoredMemory


@dataclass(frozen=True, slots=True)
class SignalAccount:
    """What one signal did for a score."""

    name: str
    value: float
    weight: float
    contribution: float
    """weight · value."""
    share: float
    """The contribution's part of the whole score; 0 where the score is 0."""
    behind: float | None
    """How much more this signal contributed to the last memory returned; None if fewer than k."""
    of_terms: float | None = None
    """Of keyword: the share of the query's terms that the memory has, by weight."""
    length_factor: float | None = None
    """Of keyword: what the share is multiplied by, below 1 for a long memory."""


@dataclass(frozen=True, slots=True)
class TermAccount:
    """One term of the query's text, as it is compared: without its ending, accents and case."""

    term: str
    matched: bool
    """Whether the memory has it."""
    weight: float
    """ln(1 + (N - n + 0.5) / (n + 0.5)); 0 for a term that is left out."""
    share: float
    """The weight's part of those of all terms: what a memory that has it gets for it."""
    memories: int
    """n: how many of the owner's memories have it."""
    left_out: bool = False
    """Whether it counts for nothing, since none of the memories searched has it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One memory under one search.

    `rank` counts from 1 among all memories that pass the filters; for a memory that does not pass
    it is the rank its score would have. `returned` tells whether the search returns it, `reasons`
    why not. `needed_score` is the score of the last memory returned, which it would have had to
    beat; None where fewer than k pass.
    """

    hit: ScoredMemory
    rank: int
    ranked: int
    """How many memories pass the filters."""
    k: int
    passes: bool
    """Whether it meets every filter, so that it is ranked at all."""
    returned: bool
    reasons: tuple[str, ...]
    needed_score: float | None
    signals: tuple[SignalAccount, ...]
    terms: tuple[TermAccount, ...] = ()
    """Heaviest first; empty where the profile has no keyword signal or the query no text."""
    query_time: Period | None = None
    """The period that was asked for, given or found in the text."""

    @property
    def loses_most_in(self) -> str | None:
        """The signal in which it falls furthest behind the last memory returned."""
        behind = {s.name: s.behind for s in self.signals if s.behind is not None and s.behind > 0}
        return max(behind, key=lambda name: behind[name]) if behind else None

    def record(self) -> dict[str, Any]:
        """The explanation as plain JSON values, numbers rounded to six decimals."""

        def rounded(number: float | None) -> float | None:
            return None if number is None else round(number, RECORD_DECIMALS)

        return self.hit.record() | {
            "returned": self.returned,
            "reasons": list(self.reasons),
            "rank": self.rank,
            "ranked": self.ranked,
            "k": self.k,
            "needed_score": rounded(self.needed_score),
            "loses_most_in": self.loses_most_in,
            **period_record(self.query_time),
            "account": [
                {
                    "signal": s.name,
                    "value": rounded(s.value),
                    "weight": s.weight,
                    "contribution": rounded(s.contribution),
                    "share": rounded(s.share),
                    "behind": rounded(s.behind),
                    **(
                        {}
                        if s.of_terms is None
                        else {
                            "of_terms": rounded(s.of_terms),
                            "length_factor": rounded(s.length_factor),
                        }
                    ),
                }
                for s in self.signals
            ],
            **(
                {
                    "terms": [
                        {
                            "term": t.term,
                            "matched": t.matched,
                            "weight": rounded(t.weight),
                            "share": rounded(t.share),
                            "memories": t.memories,
                            "left_out": t.left_out,
                        }
                        for t in self.terms
                    ]
                }
                if self.terms
                else {}
            ),
        }
