"""Why a memory was returned, or why it was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgrecall.core.dates import Period, period_record
from pgrecall.scoring.scored_memory import RECORD_DECIMALS, ScoredMemory


@dataclass(frozen=True, slots=True)
class SignalAccount:
    """One signal's part of a score."""

    name: str
    value: float
    weight: float
    contribution: float
    """weight · value."""
    share: float
    """contribution / score; 0 if the score is 0."""
    behind: float | None
    """How much more this signal contributed to the last memory returned; None if there were fewer
    than k."""
    of_terms: float | None = None
    """Only for keyword: the share of the query's terms that the memory has, by weight."""
    length_factor: float | None = None
    """Only for keyword: the factor of the share, below 1 for a long memory."""


@dataclass(frozen=True, slots=True)
class TermAccount:
    """One term of the query's text: a word without its ending, accents and case."""

    term: str
    matched: bool
    """True if the memory has it."""
    weight: float
    """ln(1 + (N - n + 0.5) / (n + 0.5)), for N memories of the owner; 0 if left out."""
    share: float
    """The weight as a share of the weights of all terms."""
    memories: int
    """n, the number of the owner's memories that have the term."""
    left_out: bool = False
    """True if the term is ignored because no memory searched has it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a search returned one memory, or why not.

    `rank` counts from 1 among all memories that pass the filters. For a memory that does not pass,
    it is the rank that its score would have. `returned` says whether the search returns it, and
    `reasons` why not. `needed_score` is the score of the last memory returned, which it would have
    to exceed; None if fewer than k memories pass.
    """

    hit: ScoredMemory
    rank: int
    ranked: int
    """The number of memories that pass the filters."""
    k: int
    passes: bool
    """True if it passes every filter and so is ranked."""
    returned: bool
    reasons: tuple[str, ...]
    needed_score: float | None
    signals: tuple[SignalAccount, ...]
    terms: tuple[TermAccount, ...] = ()
    """Greatest weight first. Empty if the profile has no keyword signal or the query no text."""
    query_time: Period | None = None
    """The query's period: the caller's, or that in its text."""

    @property
    def loses_most_in(self) -> str | None:
        """The signal in which it is furthest behind the last memory returned."""
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
