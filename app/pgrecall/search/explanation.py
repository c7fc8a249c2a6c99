"""Why a memory was returned, or why it was not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pgrecall.core.dates import Period, period_record, period_text
from pgrecall.core.display import (
    LONGEST_TEXT,
    Bar,
    Cell,
    Column,
    Displayed,
    Grid,
    Part,
    line,
    numbers,
    text_of,
)
from pgrecall.core.memory import brief
from pgrecall.scoring.scored_memory import RECORD_DECIMALS, ScoredMemory
from pgrecall.scoring.signals import DECAY

MOST_TERMS = 40
"""Terms in a table; the record has all."""


@dataclass(frozen=True, slots=True)
class SignalAccount:
    """One signal's part of a score."""

    name: str
    value: float
    weight: float
    contribution: float
    """weight · value, after the decay of the profile if it has one."""
    share: float
    """contribution / score; 0 if the score is 0."""
    behind: float | None
    """How much more this signal contributed to the last memory returned; None if there were fewer
    than k."""
    of_terms: float | None = None
    """Only for keyword: the share of the query's terms that the memory has, by weight."""
    length_factor: float | None = None
    """Only for keyword: the factor of the share, below 1 for a long memory."""
    number: float | None = None
    """Only for an attribute in metadata: the number itself."""


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
class Explanation(Displayed):
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
    period: Period | None = None
    """The query's period: the caller's, or that in its text."""

    @property
    def decay(self) -> float | None:
        """The factor of all contributions; None if the profile has no decay."""
        return self.hit.signals.get(DECAY)

    @property
    def loses_most_in(self) -> str | None:
        """The signal in which it is furthest behind the last memory returned."""
        behind = {s.name: s.behind for s in self.signals if s.behind is not None and s.behind > 0}
        return max(behind, key=lambda name: behind[name]) if behind else None

    @property
    def verdict(self) -> str:
        """Rank, score and relevance in one line."""
        returned = "returned" if self.returned else "not returned"
        rank = "rank" if self.passes else "its score would be rank"
        relevance = self.hit.relevance
        return (
            f"{returned}: {rank} {self.rank:,} of {self.ranked:,} that pass, score "
            f"{self.hit.score:.6f}"
            + ("" if relevance is None else f", relevance {relevance:.3f}")
            + period_text(self.period)
        )

    def __repr__(self) -> str:
        reasons = "".join(f", {line(one, 60)!r}" for one in self.reasons[:3])
        return f"Explanation({self.verdict!r}{reasons}, {brief(self.hit.memory)})"

    def __str__(self) -> str:
        return text_of([line(self.hit.memory.content), self.verdict, *self.reasons])

    def _parts(self) -> Iterable[Part]:
        yield line(self.hit.memory.content, LONGEST_TEXT)
        yield Bar(self.hit.contributions)
        yield self.verdict
        if self.hit.attached_to is not None:
            yield f"comes along with {self.hit.attached_to}"
        yield from self.reasons
        yield signal_grid(self)
        for signal in self.signals:
            if signal.of_terms is not None:
                yield (
                    f"{signal.name}: {signal.of_terms:.4f} of the terms by weight "
                    f"x {signal.length_factor:.4f} for its length"
                )
        if self.terms:
            yield term_grid(self)

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
            **period_record(self.period),
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
                    **({} if s.number is None else {"number": s.number}),
                }
                for s in self.signals
            ]
            + ([] if self.decay is None else [{"signal": DECAY, "value": rounded(self.decay)}]),
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


def signal_grid(explanation: Explanation) -> Grid:
    """A table of the signals."""
    behind = "" if explanation.needed_score is None else f"behind number {explanation.k}"
    loser = None if explanation.returned else explanation.loses_most_in
    rows: list[tuple[str | Cell, ...]] = [
        (
            signal.name,
            f"{signal.value:.4f}" + ("" if signal.number is None else f" ({signal.number:g})"),
            f"{signal.weight:g}",
            f"{signal.contribution:.4f}",
            f"{signal.share:.0%}",
            Cell(
                "" if signal.behind is None else f"{signal.behind:+.4f}",
                "bad" if signal.name == loser else "",
            ),
        )
        for signal in explanation.signals
    ]
    if explanation.decay is not None:
        rows.append((DECAY, f"{explanation.decay:.4f}", "", "", "", ""))
    return Grid(
        [Column("signal"), *numbers("value", "weight", "contribution", "share", behind)], rows
    )


def term_grid(explanation: Explanation) -> Grid:
    """A table of the query's terms, those of the greatest weight first."""
    rows: list[tuple[str | Cell, ...]] = [
        (
            line(term.term, 60),
            Cell("yes", "good") if term.matched else "left out" if term.left_out else "no",
            f"{term.weight:.3f}",
            f"{term.share:.0%}",
            f"{term.memories:,}",
        )
        for term in explanation.terms[:MOST_TERMS]
    ]
    if len(explanation.terms) > MOST_TERMS:
        more = f"and {len(explanation.terms) - MOST_TERMS:,} with less weight"
        rows.append((more, "", "", "", ""))
    names = Column("term of the query"), Column("in the memory")
    return Grid([*names, *numbers("weight", "share", "memories")], rows)
