"""What is searched for, and the shape that the text of its statement depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pgrecall.core.dates import Period
from pgrecall.core.vectors import StoredVector
from pgrecall.ranking.conditions import HIDDEN_OWNER, OWNER, OWNERS
from pgrecall.ranking.filters import Filters, FilterShape
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Frequency, Keyword, Signal, Time

LEAST_LENDERS = 20
MAX_FREQUENCY = 0.1
"""The weight of frequency up to which retrievals may go unseen until an index is built anew."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for; see `MemoryRepository.search` for the meaning of each."""

    agent_id: str
    """As stored, and so are the teams."""
    query: StoredVector | None
    k: int
    profile: Profile
    filters: Filters
    teams: Sequence[str] = ()
    query_entities: Sequence[str] = ()
    query_text: str | None = None
    """What the keyword signal compares with; None where nothing asks for it."""
    query_time: Period | None = None
    """The period that the time signal compares with."""
    min_score: float | None = None
    min_similarity: float | None = None
    min_relevance: float | None = None
    shows_relevance: bool = False
    """Whether it is measured where nothing is left out by it."""
    as_of: datetime | None = None
    expand_session: int = 0
    lend: float | None = None
    is_large: bool = False
    """Whether there are so many memories that planning each search anew is worth it."""

    @property
    def most(self) -> int:
        """How many are ranked by what they score themselves."""
        return self.k if self.lend is None else max(self.k, LEAST_LENDERS)

    @property
    def shape(self) -> Shape:
        return Shape(
            signals=tuple(self.profile.signals),
            filters=self.filters.shape,
            has_query=self.query is not None,
            has_teams=bool(self.teams),
            has_min_score=self.min_score is not None,
            has_min_similarity=self.min_similarity is not None,
            has_min_relevance=self.min_relevance is not None,
            shows_relevance=self.shows_relevance or self.min_relevance is not None,
            has_as_of=self.as_of is not None,
            has_text=self.query_text is not None,
            has_period=self.weighs_time,
            redistributes=self.ranks_by_words and self.profile.redistribute,
            follows_use=self._follows_use,
            expands=bool(self.expand_session),
            lends=self.lend is not None,
            is_large=self.is_large,
        )

    @property
    def ranks_by_words(self) -> bool:
        """Whether the profile compares words; else only the relevance may."""
        reads_words = any(isinstance(signal, Keyword) for signal in self.profile.signals)
        return self.query_text is not None and reads_words

    @property
    def weighs_time(self) -> bool:
        """Whether how near memories are to a period counts."""
        return self.query_time is not None and any(
            isinstance(signal, Time) and weight > 0 for signal, weight in self.profile
        )

    @property
    def _follows_use(self) -> bool:
        """Whether retrievals can move a memory far: not where little is given to their number."""
        return any(
            signal.reads_usage and (not isinstance(signal, Frequency) or weight > MAX_FREQUENCY)
            for signal, weight in self.profile
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """Every value, under the name it is bound by."""
        given = {
            "min_score": self.min_score,
            "min_similarity": self.min_similarity,
            "min_relevance": self.min_relevance,
            "as_of": self.as_of,
            "owners": [self.agent_id, *self.teams] if self.teams else None,
            "query_text": self.query_text,
            "lend": self.lend,
        }
        if self.query_time is not None and self.weighs_time:
            given["period_from"], given["period_to"] = self.query_time
        return {
            "owner_id": self.agent_id,
            "query": self.query,
            "query_entities": list(self.query_entities),
            "k": self.k,
            "ranked": self.most,
            "expand_session": self.expand_session,
            **{f"{name}_weight": weight for name, weight in self.profile.weights.items()},
            **self.filters.parameters,
            **{name: value for name, value in given.items() if value is not None},
        }


@dataclass(frozen=True, slots=True)
class Shape:
    """All that the text of a search statement depends on; statements are built once per shape."""

    signals: tuple[Signal, ...]
    filters: FilterShape
    has_query: bool
    has_teams: bool
    has_min_score: bool
    has_min_similarity: bool
    has_as_of: bool
    has_min_relevance: bool = False
    shows_relevance: bool = False
    has_text: bool = False
    """Whether words are compared."""
    has_period: bool = False
    """Whether the time signal has anything to compare with."""
    redistributes: bool = False
    """Whether the keyword signal's weight goes to the others where its text has no term."""
    follows_use: bool = False
    """Whether what was retrieved since an index was built is scored beside it."""
    expands: bool = False
    """Whether the turns beside the best are looked at."""
    lends: bool = False
    """Whether they are ranked with what these lend them, and do not just come along."""
    is_large: bool = False
    """Whether the plan may depend on whose memories they are."""

    @property
    def brings_along(self) -> bool:
        return self.expands and not self.lends

    @property
    def owners(self) -> str:
        """The parameter that tells whose memories are looked at."""
        if self.has_teams:
            return OWNERS
        return OWNER if self.is_large else HIDDEN_OWNER

    @property
    def reads_usage(self) -> bool:
        return self.filters.reads_usage or any(signal.reads_usage for signal in self.signals)
