"""The pairs of query and memory that candidates of tuning are compared by.

They are read once, with the value of every signal. A candidate's scores are sums of these columns,
so it takes no statement.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pgrecall.core.steps import Operation
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.ranks import ideal
from pgrecall.evaluation.scored import Asked, Scored, ask
from pgrecall.evaluation.weight_search import Weights
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.score import call, factor, has_value, number, signal_expression
from pgrecall.scoring.signals import Keyword
from pgrecall.search.matched import compiled
from pgrecall.search.shape import Shape

MAX_PAIRS = 30_000
"""The most pairs of query and memory. A candidate takes about a quarter of a microsecond a pair."""
FEWEST_PAIRS = 40
"""Of each query, however many queries there are."""
KEPT = 6
"""Sums of all columns that are kept, to add one column to."""

Columns = Sequence[Sequence[float]]
"""Signal → its value of each pair."""


class Block(NamedTuple):
    """The pairs of one query."""

    start: int
    end: int
    relevant: Sequence[tuple[int, float]]
    """The places of the relevant memories, and their gains."""
    ideal: float


@dataclass(frozen=True)
class Pairs:
    """The pairs of some queries."""

    columns: Columns
    blocks: Sequence[Block]
    _summed: list[tuple[Weights, list[float]]] = field(default_factory=list, repr=False)
    """The weights whose scores were summed in full, and these scores, those used last first."""

    def of(self, numbers: Iterable[int]) -> Pairs:
        """The pairs of the queries with these numbers."""
        chosen = [self.blocks[number] for number in numbers]
        columns = [
            [value for one in chosen for value in its[one.start : one.end]] for its in self.columns
        ]
        blocks, end = [], 0
        for one in chosen:
            moved = end - one.start
            relevant = [(place + moved, gain) for place, gain in one.relevant]
            blocks.append(Block(end, one.end + moved, relevant, one.ideal))
            end = one.end + moved
        return Pairs(columns, blocks)

    @property
    def varying(self) -> list[bool]:
        """Of each signal, whether it differs between the memories of some query."""
        return [
            any(min(part) < max(part) for part in self._parts(values) if part)
            for values in self.columns
        ]

    def worth(self, weights: Weights) -> float:
        """The mean nDCG over all ranks, with these weights of the signals. Memories of one score
        share the mean of their ranks."""
        scores = self._scores(weights)
        total = 0.0
        for block in self.blocks:
            its = scores[block.start : block.end]
            reached = 0.0
            ordered = sorted(its)
            for place, gain in block.relevant:
                score = its[place - block.start]
                lower, upper = bisect_left(ordered, score), bisect_right(ordered, score)
                ahead = len(ordered) - upper + (upper - lower - 1) / 2
                reached += gain / math.log2(2 + ahead)
            total += reached / block.ideal
        return total / len(self.blocks) if self.blocks else 0.0

    def _scores(self, weights: Weights) -> list[float]:
        """The score of each pair. If one weight differs from those last summed, only its column
        is added."""
        for place, (last, scores) in enumerate(self._summed):
            differing = [n for n, weight in enumerate(weights) if weight != last[n]]
            if len(differing) <= 1:
                self._summed.insert(0, self._summed.pop(place))
                for number in differing:
                    more = weights[number] - last[number]
                    scores = _plus(scores, more, self.columns[number])
                return scores
        scores = [0.0] * (self.blocks[-1].end if self.blocks else 0)
        for column, weight in zip(self.columns, weights, strict=True):
            if weight:
                scores = _plus(scores, weight, column)
        self._summed[:] = [(weights, scores), *self._summed[: KEPT - 1]]
        return scores

    def _parts(self, values: Sequence[float]) -> Iterable[Sequence[float]]:
        return (values[block.start : block.end] for block in self.blocks)


def _plus(scores: Sequence[float], weight: float, column: Sequence[float]) -> list[float]:
    return [score + weight * value for score, value in zip(scores, column, strict=True)]


def drawn(context: Asked, checked: Sequence[CheckedQuery], profile: Profile) -> Operation[Pairs]:
    """Reads the pairs of the queries: their relevant memories and the strongest others."""
    most = max(MAX_PAIRS // len(checked), FEWEST_PAIRS)
    limits = {"most_by_start": most // 2, "most_by_other": most // 6}
    names = [signal.name for signal in profile.signals]
    found: list[list[list[Any]]] = []
    for query in checked:
        [search] = yield from context.searches(query, [profile])
        judged = {"judged": [*query.relevant], **limits}
        rows = yield from ask(context, "draw", [search], _columns, _drawn, **judged)
        has = search.profile.weights
        found.append(
            sorted(
                [row.id, *(getattr(row, f"its_{one}") if one in has else 0.0 for one in names)]
                for row in rows
            )
        )
    return _pairs(checked, found, len(names))


def _columns(shape: Shape, scored: Sequence[Scored]) -> dict[str, str]:
    """The value of each signal, the cosine, the share of words, and the sum of all values."""
    rows, [one] = shape.rows, scored
    # A decay multiplies the sum, so it may multiply each part.
    decay = one.shape.decay
    times = None if decay is None else factor(decay, rows)
    values = {}
    words = similarity = rows.text("similarity")
    for signal in one.shape.signals:
        value = signal_expression(signal, rows) if has_value(signal, rows) else number(0)
        if times is not None:
            value = call(rows, "decayed", value, times)
        values[f"its_{signal.name}"] = f"({compiled(value)})::float8"
        if isinstance(signal, Keyword):
            words = compiled(signal_expression(signal, rows))
    total = " + ".join(values.values())
    return {**values, "nearness": similarity, "words": words, "total": total}


def _drawn(scored: Sequence[Scored], has_least: bool) -> str:
    """The judged memories and the strongest others, since sensible weights rank one of these first:
    half of them by the present profile, half by other weights."""
    [one] = scored
    names = ", ".join(f"scored.its_{signal.name}" for signal in one.shape.signals)
    best = {
        f"score_{one.place} DESC NULLS LAST": ":most_by_start",
        "nearness DESC NULLS LAST": ":most_by_other",
        "words DESC NULLS LAST": ":most_by_other",
        "total DESC": ":most_by_other",
    }
    parts = (
        f"(SELECT scored.id FROM scored ORDER BY scored.{order}, scored.id LIMIT {most}::integer)"  # noqa: S608  ours
        for order, most in best.items()
    )
    return f"""SELECT scored.id, {names}
  FROM scored
  JOIN ({" UNION ".join(parts)} UNION SELECT pg_catalog.unnest(:judged::uuid[])) best
    ON best.id = scored.id"""  # noqa: S608  ours


def _pairs(checked: Sequence[CheckedQuery], rows: Sequence[Sequence[Any]], signals: int) -> Pairs:
    blocks, end = [], 0
    for query, its in zip(checked, rows, strict=True):
        relevant = [
            (end + n, query.relevant[row[0]])
            for n, row in enumerate(its)
            if row[0] in query.relevant
        ]
        blocks.append(Block(end, end + len(its), relevant, ideal(query.relevant)))
        end += len(its)
    values = [row[1:] for its in rows for row in its]
    columns = [list(column) for column in zip(*values, strict=True)]
    return Pairs(columns or [[] for _ in range(signals)], blocks)
