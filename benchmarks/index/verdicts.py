"""Verdicts: which goals the comparisons meet."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

from benchmarks.index.approaches import INDEX
from benchmarks.index.comparison import Comparison, Outcome
from benchmarks.index.goals import COST, FASTER, FULL, GROWTH, RECALL, WORN, Goal, Verdict

GROWTH_CASE, FILTERS_CASE, SMALL_CASE, USE_CASE = 5, 6, 7, 8


def verdicts(comparisons: Sequence[Comparison]) -> list[Verdict]:
    found = [
        verdict
        for comparison in comparisons
        if comparison.goal is not None
        for verdict in _of_one(comparison, comparison.goal, comparison.outcomes[INDEX])
    ]
    grown = [one for one in comparisons if one.case == GROWTH_CASE]
    if grown:
        first, last = grown[0], grown[-1]
        times = cost(last, first, INDEX)
        what = f"{first.question} to {last.question}"
        found.append(Verdict(GROWTH_CASE, last.data, what, COST, times, GROWTH, at_most=True))
    filtered = [one for one in comparisons if one.case == FILTERS_CASE]
    if filtered:
        fewest = min(one.outcomes[INDEX].full for one in filtered)
        what = "with every filter, and with a team"
        found.append(Verdict(FILTERS_CASE, filtered[0].data, what, FULL, fewest, 1))
    used: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for one in comparisons:
        if one.case == USE_CASE:
            used[one.data, one.question.partition(",")[0]].append(one)
    for (data, _), (fresh, last) in used.items():
        times = cost(last, fresh, INDEX)
        found.append(Verdict(USE_CASE, data, last.question, COST, times, WORN, at_most=True))
    return sorted(found, key=lambda verdict: verdict.case)


def cost(comparison: Comparison, smallest: Comparison, approach: str) -> float:
    """How many times as long it takes as with the fewest memories, median within a round."""
    here, there = (one.outcomes[approach].timing.seconds for one in (comparison, smallest))
    return statistics.median(long / short for long, short in zip(here, there, strict=True))


def _of_one(comparison: Comparison, goal: Goal, outcome: Outcome) -> Iterator[Verdict]:
    of = comparison.case, comparison.data, comparison.question
    if goal.recall is not None:
        yield Verdict(*of, RECALL, outcome.recall, goal.recall)
    if goal.faster is not None:
        yield Verdict(*of, FASTER, outcome.faster, goal.faster)
    if goal.full:
        yield Verdict(*of, FULL, outcome.full, 1)
