"""Lists the memories that any weights of a profile could rank first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core.checks import K
from pgrecall.core.dates import Period
from pgrecall.core.memory import Memory
from pgrecall.core.quoting import listed
from pgrecall.core.steps import READS, Operation, needs
from pgrecall.core.validation import require_bool, require_count
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.question import Question
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.signals import DECAY
from pgrecall.search.candidates_statement import AGE, candidates_of, clocks, lists
from pgrecall.search.rows import hits_of, missing_in


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that a search could return by other weights, with its exact values."""

    memory: Memory
    score: float
    """By the profile and the weights in effect."""
    similarity: float | None
    relevance: float | None
    signals: dict[str, float]
    """The value of each signal by its name; and `decay`, the factor of all, if there is one."""
    age_days: dict[str, float | None]
    """The days since the clock of `recency`, and since that of `decay`; None without a clock."""
    terms: list[str]
    """The terms of the query's text that it has, as `explain` names them."""


@dataclass(frozen=True, slots=True)
class SignalBound:
    """The most that a memory which is no candidate has of a signal."""

    has_value: bool
    """False: the query has nothing to compare, and the signal is the same for every memory."""
    nth: float | None
    """The n-th greatest value; None if fewer than n memories pass."""
    nth_age_days: float | None = None
    """The least age of one that is no candidate, for a signal with a clock."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The n best memories by the score, and those with more of a signal than its n-th value."""

    profile: dict[str, Any]
    """As a profile file has it, with the caller's weights."""
    total: int | None
    """How many memories pass the filters; None if only the best by the score were looked for,
    unless these are all."""
    period: Period | None
    signals: dict[str, SignalBound]
    decay: SignalBound | None
    memories: list[Candidate]
    """Best first by the profile."""


MOST = 1_000
"""The greatest `n`."""
_OF_OTHER_SCORES = ("min_score", "surrounding_turns")
"""Arguments whose effect depends on the scores of all memories, which change with the weights."""


@needs(READS)
def candidates(
    tables: Tables,
    /,
    agent_id: str | UUID,
    query: VectorLike | str | None = None,
    *,
    n: int = 100,
    k: int = 10,
    by_signal: bool = True,
    **arguments: Unpack[SearchArguments],
) -> Operation[Candidates]:
    """The memories that a search with other weights could return, with the value of each signal.

    They are the `n` best by the profile, and those that have more of a signal, or are younger by
    the clock of recency, than the n-th memory by this signal; n is raised to `k`. With `by_signal`
    False they are the n best by the profile alone, and `total` is None, unless these are all.

    Takes the arguments of `search` except min_score and surrounding_turns, which depend on the
    scores of other memories. Every memory is read once, without a rank index. No retrieval is
    counted. On Citus, the owners of one call must be one.

    Raises InputError for a value that cannot be used.
    """
    require_count("n", n, at_least=1, at_most=MOST)
    K("k", k)
    require_bool("by_signal", by_signal)
    refused = [name for name in _OF_OTHER_SCORES if arguments.get(name)]
    if refused:
        raise InputError(
            f"candidates are ranked by their own scores alone: leave out {listed(refused)}"
        )
    n = max(n, k)
    question = Question.of(tables, agent_id, query, k=k, arguments=arguments)
    if arguments.get("profile") is None:
        question = question.by((yield from default_profile(tables)))
    search = yield from question.resolved(tables)
    if search.spans_nodes:
        raise InputError(
            "candidates do not go with teams on Citus, where each owner is ranked on its node: "
            "ask for one owner at a time"
        )
    rows = yield candidates_of(tables, search, n, by_signal=by_signal)
    return _candidates(question, search, n, rows)


def _candidates(question: Question, search: Search, n: int, rows: list[Any]) -> Candidates:
    profile = search.profile
    names = lists(profile.signals, profile.decay, search.options)
    ages = [*clocks(profile.signals, profile.decay)]
    least: dict[str, float | None] = {}
    total: int | None = len(rows)
    if rows and hasattr(rows[0], "total"):
        least, total = dict(zip(names, rows[0].least, strict=True)), rows[0].total
    elif len(rows) == n:  # no more is known than that a signal is at most 1, and an age at least 0
        least, total = {one: 0.0 if one.startswith(AGE) else 1.0 for one in names}, None

    of_all = {one.name: getattr(one, "missing", 0.0) for one in profile.signals}
    without = missing_in(rows[0]) if rows else []

    def bound(name: str) -> SignalBound:
        has_list = name in names
        youngest = least.get(f"{AGE}{name}")
        same = of_all.get(name) if total is None or total >= n else None
        return SignalBound(
            has_value=has_list and name not in without,
            nth=least.get(name) if has_list else same,
            nth_age_days=None if youngest is None else abs(youngest),
        )

    return Candidates(
        profile=as_values(question.search.profile),
        total=total,
        period=search.period,
        signals={signal.name: bound(signal.name) for signal in profile.signals},
        decay=None if profile.decay is None else bound(DECAY),
        memories=[
            Candidate(
                *(one.memory, one.score, one.similarity, one.relevance, one.signals),
                dict(zip(ages, row.ages, strict=True)),
                list(getattr(row, "terms", None) or ()),
            )
            for one, row in zip(hits_of(profile, rows), rows, strict=True)
        ],
    )
