"""Floors: the effect of each min_relevance on queries with and without an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from pgrecall.core.steps import Operation
from pgrecall.evaluation.batches import Asked, Batch, Values
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import RECORD_DECIMALS

STEP = 10**RECORD_DECIMALS
STEPS = 100
"""Floors of every table, evenly from 0 to 1."""

Reach = tuple[float | None, Sequence[tuple[float, float]], int]
"""Of one query: the highest relevance of any memory, None if none is ranked; for each relevant
memory its relevance and the floor above which it is among the k best (negative: with any floor);
and the number of relevant memories."""


@dataclass(frozen=True, slots=True)
class Floor:
    """The effect of one min_relevance on the queries of an evaluation."""

    min_relevance: float
    silent: float
    """The share of the queries without an answer that return nothing."""
    lost: float
    """The share of the queries with an answer that return nothing."""
    precision: float | None
    """The share of queries without an answer among those that return nothing; None if there are
    none of these. Depends on how many queries of each kind there are."""
    recall: float
    """recall@k over the queries with an answer."""

    def record(self) -> dict[str, float | None]:
        """The floor as plain JSON values."""
        return {
            name: None if value is None else round(value, RECORD_DECIMALS)
            for name, value in asdict(self).items()
        }


def table_of(reaches: Sequence[Reach], others: Iterable[float] = ()) -> list[Floor]:
    """The floors of STEPS, `others`, and each at which one more query without an answer returns
    nothing, in order."""
    highest = {best or 0.0 for best, _, answers in reaches if not answers}
    least = (min(math.floor(best * STEP + 1) / STEP, 1.0) for best in highest)
    even = (number / STEPS for number in range(STEPS + 1))
    return [_floor(reaches, one) for one in sorted({*even, *least, *others})]


def _floor(reaches: Sequence[Reach], floor: float) -> Floor:
    effects = [_effect(reach, floor) for reach in reaches]
    answered = [(is_silent, recall) for is_silent, recall in effects if recall is not None]
    lost = sum(is_silent for is_silent, _ in answered)
    silent = sum(is_silent for is_silent, recall in effects if recall is None)
    return Floor(
        floor,
        silent / (len(effects) - len(answered)),
        lost / len(answered),
        silent / (silent + lost) if silent + lost else None,
        math.fsum(recall for _, recall in answered) / len(answered),
    )


def _effect(reach: Reach, floor: float) -> tuple[bool, float | None]:
    """True if a query returns nothing above this floor; and its recall, if it has an answer."""
    best, relevant, answers = reach
    is_silent = best is None or best < floor
    if not answers:
        return is_silent, None
    return is_silent, sum(above < floor <= one for one, above in relevant) / answers


def evaluate_floors(
    context: Asked, checked: Sequence[CheckedQuery], profile: Profile, k: int
) -> Operation[list[Floor]]:
    """The table of floors, the profile's among them.

    Some queries have an answer, and some have none.
    """
    own = () if profile.min_relevance is None else (profile.min_relevance,)
    return table_of((yield from reached(context, checked, profile, k)), own)


def reached(
    context: Asked, checked: Sequence[CheckedQuery], profile: Profile, k: int
) -> Operation[list[Reach]]:
    """The reach of each query, in their order."""
    rows: dict[int, list[Any]] = {number: [] for number in range(len(checked))}
    for batch in (yield from context.batches(checked, [profile], reads_words=True)):
        for row in (yield batch.run(context.tables, "reach", _places, k=k)):
            rows[row.number].append(row)
    return [
        (its[0].best if its else None, tuple(_relevant(its).values()), len(query.relevant))
        for its, query in zip(rows.values(), checked, strict=True)
    ]


def _places(values: Values, batch: Batch) -> dict[str, str]:
    [profile] = batch.profiles
    return {"scores": f"{batch.score(values, 0, profile)} AS score, compared.relevance"}


def _relevant(rows: Sequence[Any]) -> dict[UUID, tuple[float, float]]:
    """Maps ids to relevance. If two owners have a memory of one id, the better one counts."""
    relevance: dict[UUID, tuple[float, float]] = {}
    for row in rows:
        if row.id is not None:
            reach = row.relevance, -1.0 if row.above is None else row.above
            relevance[row.id] = max(relevance.get(row.id, reach), reach)
    return relevance
