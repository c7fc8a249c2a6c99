"""Floors: the effect of each min_relevance on queries with and without an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from pgrecall.core.steps import Operation
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.scored import Asked, Scored, ask
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import RECORD_DECIMALS
from pgrecall.search.shape import Shape

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
    reaches: list[Reach] = []
    for query in checked:
        searches = yield from context.searches(query, [profile], min_relevance=0.0)
        judged = {"judged": [*query.relevant], "k": k}
        rows = yield from ask(context, "reach", searches, _columns, _reach, **judged)
        best = rows[0].best if rows else None
        reaches.append((best, tuple(_relevant(rows).values()), len(query.relevant)))
    return reaches


def _columns(shape: Shape, scored: Sequence[Scored]) -> dict[str, str]:
    return {"relevance": shape.rows.text("relevance")}


def _reach(scored: Sequence[Scored], has_least: bool) -> str:
    """A row for each judged memory, or one with a NULL id. best: the highest relevance of all.
    above: the lowest among the k most relevant that are ranked before it, NULL if there are fewer.
    """
    [one] = scored
    score = f"score_{one.place}"
    ranked = f"{score} >= :min_score::float8" if has_least else "true"
    return f"""SELECT highest.best, wanted.id, wanted.relevance, crowd.above
  FROM (SELECT max(s.relevance) AS best FROM scored s WHERE {ranked}) highest
  LEFT JOIN (SELECT * FROM scored WHERE {ranked}) wanted ON wanted.id = ANY (:judged::uuid[])
  LEFT JOIN LATERAL (
       SELECT s.relevance AS above
         FROM scored s
        WHERE {ranked} AND (wanted.{score}, s.id) < (s.{score}, wanted.id)
        ORDER BY s.relevance DESC
       OFFSET :k::integer - 1 LIMIT 1) crowd ON true"""  # noqa: S608  ours


def _relevant(rows: Sequence[Any]) -> dict[UUID, tuple[float, float]]:
    """Maps ids to relevance. If two owners have a memory of one id, the better one counts."""
    relevance: dict[UUID, tuple[float, float]] = {}
    for row in rows:
        if row.id is not None:
            reach = row.relevance, -1.0 if row.above is None else row.above
            relevance[row.id] = max(relevance.get(row.id, reach), reach)
    return relevance
