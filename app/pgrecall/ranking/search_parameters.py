"""The parameters of a search, and its shape, which determines the text of the statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from pgrecall.core.dates import Period
from pgrecall.core.limits import COMPARED_PER_HIT, LEAST_COMPARED
from pgrecall.core.vectors import StoredVector
from pgrecall.ranking.filters import Filters
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import (
    EntityOverlap,
    Keyword,
    Time,
    requires_embedding,
)


@dataclass(frozen=True, slots=True)
class Search:
    """The arguments of a search; `MemoryRepository.search` describes each of them."""

    agent_id: str
    """The owner as stored; so are the teams."""
    query: StoredVector | None
    k: int
    profile: Profile
    filters: Filters
    teams: Sequence[str] = ()
    query_entities: Sequence[str] | None = None
    """The entities of the query; None: those that `naming_text` names."""
    names: int | None = None
    """How many names stand for query_entities; None: the statement looks names up."""
    naming_text: str | None = None
    """The text in which entities are found; None if nothing needs it."""
    keywords: str | None = None
    """The text that words are compared with; None if nothing needs it."""
    period: Period | None = None
    """The period that the time signal compares with."""
    min_score: float | None = None
    min_relevance: float | None = None
    shows_relevance: bool = False
    """True if relevance is measured although it leaves out nothing."""
    as_of: datetime | None = None
    surrounding_turns: int = 0
    diversity: float = 0.0
    is_large: bool = False
    """True if the owners have so many memories that planning each search again is worth it."""
    has_subjects: bool = False
    """True if memories of the owners have subjects, which may be entities."""
    distributed: bool = False
    """True if Citus distributes the owners over several nodes."""
    others: Sequence[str] = ()
    """All owners of a search of which this is the part of one; their words count too."""

    @property
    def spans_nodes(self) -> bool:
        """True if its owners may be on different nodes."""
        return self.distributed and bool(self.teams)

    @property
    def may_prepare(self) -> bool:
        """True: prepare a statement that scores every memory. For large owners each is planned by
        its values, on Citus all are, whether prepared or not."""
        return self.distributed or not self.is_large

    @property
    def most(self) -> int:
        """How many memories are ranked: k, or more if the k are chosen among them."""
        if self.diversity:
            return max(COMPARED_PER_HIT * self.k, LEAST_COMPARED)
        return self.k

    @property
    def options(self) -> frozenset[str]:
        """What the text of its statements depends on."""
        options = {
            "teams": bool(self.teams),
            # Citus finds an owner's node only where the planner sees whose memories are searched.
            "large": self.is_large or self.distributed,
            "distributed": self.distributed,
            "query": self.query is not None,
            "words": self.keywords is not None,
            "period": self.period is not None and self.weighs_time,
            "as_of": self.as_of is not None,
            "relevance": self.shows_relevance or self.min_relevance is not None,
            "min_score": self.min_score is not None,
            "min_relevance": self.min_relevance is not None,
            "surrounding_turns": bool(self.surrounding_turns),
            "named": self.may_name,
            "naming": self.may_name and self.names is None,
            "subjects": self.has_subjects,
            "given_names": bool(self.query_entities) and self.names is None,
        }
        of_profile = _profile_options(self.profile, self.query is not None)
        names = (name for name, is_on in options.items() if is_on)
        return self.filters.options.union(of_profile, names)

    @property
    def ranks_by_words(self) -> bool:
        """True if the query has a text and the profile a keyword signal."""
        return self.keywords is not None and self.profile.find(Keyword) is not None

    @property
    def may_name(self) -> bool:
        """True if the profile compares entities and the query may have some."""
        if self.profile.find(EntityOverlap) is None:
            return False
        if self.query_entities is None:
            return self.naming_text is not None
        return bool(self.query_entities)

    @property
    def weighs_time(self) -> bool:
        """True if the time signal has a weight and the query has a period."""
        return self.period is not None and weighs_time(self.profile)

    @property
    def parameters(self) -> dict[str, Any]:
        """The values to bind, by name."""
        owners = [self.agent_id, *self.teams]
        optional = {
            "min_score": self.min_score,
            "min_relevance": self.min_relevance,
            "as_of": self.as_of,
            "keywords": self.keywords,
            "naming_text": self.naming_text,
            "names": self.names,
            "query_entities": None if self.query_entities is None else list(self.query_entities),
        }
        if self.period is not None and self.weighs_time:
            optional["period_from"], optional["period_to"] = self.period
        return {
            "agent_id": self.agent_id,
            "agents": owners,
            "whole_owners": owners,
            "worded_owners": [*self.others] or owners,
            "query": self.query,
            "k": self.k,
            "ranked": self.most,
            "surrounding_turns": self.surrounding_turns,
            **{f"{name}_weight": weight for name, weight in self.profile.weights.items()},
            **{name: value for name, value in optional.items() if value is not None},
        }


@lru_cache
def weighs_time(profile: Profile) -> bool:
    """True if the profile's time signal has a weight."""
    return any(isinstance(signal, Time) and weight > 0 for signal, weight in profile)


@lru_cache
def _profile_options(profile: Profile, has_query: bool) -> frozenset[str]:
    """The options of a statement that follow from the profile."""
    signals = profile.signals
    options = {
        "embedding": has_query and requires_embedding(signals),
        "keyword": profile.find(Keyword) is not None,
        "redistribute": profile.redistribute,
    }
    return frozenset(name for name, is_on in options.items() if is_on)
