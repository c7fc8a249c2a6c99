"""Asking: a question, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.contenders import K
from benchmarks.data import Floats
from pgrecall import MemoryRepository
from pgrecall.rank_index import strategy
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.hits import Hits, Strategy
from pgrecall.scoring.profile import Profile


@dataclass(frozen=True)
class Question:
    """What every approach is asked in the same round."""

    vector: Floats
    entities: tuple[str, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class Asked:
    """All of a search but the question."""

    agent_id: str
    profile: Profile
    filters: FilterArguments
    teams: tuple[str, ...] = ()


Approach = Callable[[Question], Hits]


def searching(repo: MemoryRepository, asked: Asked, strategy: Strategy) -> Approach:
    """As the library's user would."""

    def search(question: Question) -> Hits:
        return repo.search(
            asked.agent_id,
            question.vector,
            k=K,
            profile=asked.profile,
            query_entities=question.entities,
            query_text=question.text,
            teams=asked.teams,
            strategy=strategy,
            touch=False,
            **asked.filters,
        )

    return search


def with_candidates(number: int, approach: Approach) -> Approach:
    """The same where the rank index hands on so many candidates at first."""

    def search(question: Question) -> Hits:
        former = strategy.initial_candidates
        strategy.initial_candidates = lambda search, usable: number
        try:
            return approach(question)
        finally:
            strategy.initial_candidates = former

    return search
