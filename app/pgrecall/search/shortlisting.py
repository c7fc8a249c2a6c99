"""Lists the memories that any weights of a profile could rank first."""

from __future__ import annotations

from typing import Any, Unpack
from uuid import UUID

from pgrecall.core.checks import K
from pgrecall.core.quoting import listed
from pgrecall.core.steps import READS, Operation, needs
from pgrecall.core.validation import require_count
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.composing import ranks
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.question import Question
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.decay import DECAY
from pgrecall.scoring.expression import clocks, has_value
from pgrecall.scoring.signals import Signal, Similarity
from pgrecall.search.candidate_list import Candidate, Candidates, SignalBound
from pgrecall.search.searching import hits_of, in_effect, missing_in

MOST = 1_000
"""The greatest `n`."""
_OF_OTHER_SCORES = ("min_score", "max_per", "expand_session", "lend")
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
    **arguments: Unpack[SearchArguments],
) -> Operation[Candidates]:
    """The memories that a search with other weights could return, with the value of each signal.

    They are the `n` best by each signal that the query has a value for, the n youngest by the clock
    of recency, and the n best by the profile; n is raised to `k`. With the n-th value of each
    signal, `Candidates.ranked` says for any weights whether their order is that of a search. So a
    program can rank anew while somebody moves a slider.

    Takes the arguments of `search`, except for those that depend on the scores of other memories:
    min_score, max_per, expand_session and lend. Every memory is read once, without a rank index. No
    retrieval is counted. On Citus, the owners of one call must be one.

    Raises InputError for a value that cannot be used.
    """
    require_count("n", n, at_least=1, at_most=MOST)
    K("k", k)
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
    lists = _lists(search)
    values: dict[str, Any] = {"n": n, "lists": [*lists.values()]}
    rows = yield ranks(tables, "candidates", search, may_prepare=search.may_prepare, **values)
    return _candidates(question, search, n, lists, rows)


def _lists(search: Search) -> dict[str, int]:
    """The lists that the statement makes, by the name of what they are sorted by, in its order:
    places of ages, negative and named as ages are, then the score, and places of signals."""
    profile = search.profile
    aged = clocks(profile.signals, profile.decay)
    lists = {_age_of(name): -place for place, name in enumerate(aged, start=1)}
    lists = dict(reversed(lists.items())) | {"": 0}
    for place, signal in enumerate(profile.signals, start=1):
        if _compares(signal, search):
            lists[signal.name] = place
    if profile.decay is not None:
        lists[DECAY] = len(profile.signals) + 1
    return lists


def _compares(signal: Signal, search: Search) -> bool:
    """True if the query has something that the signal compares memories with, or it needs none."""
    if isinstance(signal, Similarity):
        return search.query is not None
    return has_value(signal, search.options)


def _age_of(name: str) -> str:
    return f"age of {name}"


def _candidates(
    question: Question, search: Search, n: int, lists: dict[str, int], rows: list[Any]
) -> Candidates:
    profile, ages = search.profile, [*clocks(search.profile.signals, search.profile.decay)]
    least = dict(zip(lists, rows[0].least, strict=True)) if rows else {}
    total = rows[0].total if rows else 0
    effective = in_effect(profile, rows[0]) if rows else profile

    of_all = {one.name: getattr(one, "missing", 0.0) for one in profile.signals}
    without = missing_in(rows[0]) if rows else []

    def bound(name: str) -> SignalBound:
        has_list = name in lists
        youngest = least.get(_age_of(name))
        return SignalBound(
            has_value=has_list and name not in without,
            nth=least.get(name) if has_list else of_all[name] if total >= n else None,
            nth_age_days=None if youngest is None else abs(youngest),
        )

    return Candidates(
        profile=question.search.profile,
        weights=effective.weights,
        total=total,
        n=n,
        query_time=search.query_time,
        signals={signal.name: bound(signal.name) for signal in profile.signals},
        decay=None if profile.decay is None else bound(DECAY),
        memories=[
            Candidate.of(
                one,
                dict(zip(ages, row.ages, strict=True)),
                getattr(row, "terms", None),
            )
            for one, row in zip(hits_of(profile, rows), rows, strict=True)
        ],
    )
