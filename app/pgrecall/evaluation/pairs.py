"""The pairs of query and memory that candidates of tuning are compared by.

They are read once, with the value of every variant of every signal. A candidate's scores are sums
of these columns, so it takes no statement.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from pgrecall.core.steps import Operation
from pgrecall.evaluation.batches import Asked, Batch, Values
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.prepared_queries import by_owner, searched_owners
from pgrecall.evaluation.ranks import ideal
from pgrecall.evaluation.tunable import Lending, bundles, variants
from pgrecall.ranking.composing import reads
from pgrecall.ranking.search_parameters import LEAST_LENDERS
from pgrecall.scoring import expression
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Keyword

MAX_PAIRS = 30_000
"""The most pairs of query and memory. A candidate takes about a quarter of a microsecond a pair."""
FEWEST_PAIRS = 40
"""Of each query, however many queries there are."""
KEPT = 6
"""Sums of all columns that are kept, to add one column to."""
FARTHEST = 3
"""How many turns away a hit may lend."""

Columns = Sequence[Sequence[Sequence[float]]]
"""Signal → variant → its value of each pair."""


class PlacedTurn(NamedTuple):
    """The place of a turn among those of its owner."""

    place: int
    """Counted on over sessions."""
    session: str
    """With its owner."""
    divisor: float
    """The number that divides what it borrows: above 1 if it is long."""


class Block(NamedTuple):
    """The pairs of one query."""

    start: int
    end: int
    relevant: Sequence[tuple[int, float]]
    """The places of the relevant memories, and their gains."""
    ideal: float
    beside: Mapping[int, Sequence[tuple[int, int, float]]]
    """Place → the places of the turns beside it, each with its distance and divisor."""


@dataclass(frozen=True)
class Pairs:
    """The pairs of some queries."""

    columns: Columns
    blocks: Sequence[Block]
    _summed: list[tuple[tuple[float, ...], tuple[int, ...], list[float]]] = field(
        default_factory=list, repr=False
    )
    """The weights and variants whose scores were summed in full, and these scores, those used last
    first."""

    def of(self, numbers: Iterable[int]) -> Pairs:
        """The pairs of the queries with these numbers."""
        chosen = [self.blocks[number] for number in numbers]
        columns = [
            [[value for one in chosen for value in its[one.start : one.end]] for its in several]
            for several in self.columns
        ]
        blocks, end = [], 0
        for one in chosen:
            moved = end - one.start
            blocks.append(
                Block(
                    end,
                    end + one.end - one.start,
                    [(place + moved, gain) for place, gain in one.relevant],
                    one.ideal,
                    {
                        place + moved: [
                            (near + moved, distance, divisor) for near, distance, divisor in its
                        ]
                        for place, its in one.beside.items()
                    },
                )
            )
            end += one.end - one.start
        return Pairs(columns, blocks)

    @property
    def varying(self) -> list[list[bool]]:
        """Signal → variant → whether it differs between the memories of some query."""
        return [
            [
                any(min(part) < max(part) for part in self._parts(values) if part)
                for values in several
            ]
            for several in self.columns
        ]

    @property
    def has_turns(self) -> bool:
        return any(block.beside for block in self.blocks)

    def worth(
        self, weights: Sequence[float], chosen: Sequence[int], lending: Lending | None = None
    ) -> float:
        """The mean nDCG over all ranks, with these weights and variants of the signals. Memories of
        one score share the mean of their ranks."""
        scores = self._scores(tuple(weights), tuple(chosen))
        total = 0.0
        for block in self.blocks:
            its = scores[block.start : block.end]
            if lending is not None and block.beside:
                its = _raised(its, block, lending)
            reached = 0.0
            ordered = sorted(its)
            for place, gain in block.relevant:
                score = its[place - block.start]
                lower, upper = bisect_left(ordered, score), bisect_right(ordered, score)
                ahead = len(ordered) - upper + (upper - lower - 1) / 2
                reached += gain / math.log2(2 + ahead)
            total += reached / block.ideal
        return total / len(self.blocks) if self.blocks else 0.0

    def _scores(self, weights: tuple[float, ...], chosen: tuple[int, ...]) -> list[float]:
        """The score of each pair. If one weight differs from those last summed, only its column
        is added."""
        for place, (last, of, scores) in enumerate(self._summed):
            differing = [n for n, weight in enumerate(weights) if weight != last[n]]
            if of == chosen and len(differing) <= 1:
                self._summed.insert(0, self._summed.pop(place))
                for number in differing:
                    more, column = weights[number] - last[number], self.columns[number]
                    scores = _plus(scores, more, column[chosen[number]])
                return scores
        scores = [0.0] * (self.blocks[-1].end if self.blocks else 0)
        for several, number, weight in zip(self.columns, chosen, weights, strict=True):
            if weight:
                scores = _plus(scores, weight, several[number])
        self._summed[:] = [(weights, chosen, scores), *self._summed[: KEPT - 1]]
        return scores

    def _parts(self, values: Sequence[float]) -> Iterable[Sequence[float]]:
        return (values[block.start : block.end] for block in self.blocks)


def _plus(scores: Sequence[float], weight: float, column: Sequence[float]) -> list[float]:
    return [score + weight * value for score, value in zip(scores, column, strict=True)]


def _raised(scores: Sequence[float], block: Block, lending: Lending) -> list[float]:
    """The scores with what the best hits lend to the turns beside them."""
    places = range(len(scores))
    raised, given = list(scores), set[int]()
    for hit in heapq.nlargest(LEAST_LENDERS, places, key=lambda place: (scores[place], -place)):
        for place, distance, divisor in block.beside.get(hit + block.start, ()):
            near = place - block.start
            if distance <= lending.expand_session and near not in given:
                given.add(near)  # the first hit that lends is the best one
                raised[near] += lending.lend * scores[hit] / divisor
    return raised


def drawn(
    context: Asked, checked: Sequence[CheckedQuery], profile: Profile, *, lends: bool
) -> Operation[Pairs]:
    """Reads the pairs of the queries: their relevant memories and the strongest others.

    `lends`: also reads which memories are turns beside each other.
    """
    signals = [variants(signal) for signal in profile.signals]
    most = max(MAX_PAIRS // len(checked), FEWEST_PAIRS)
    limits = {"most_by_start": most // 2, "most_by_other": most // 6}
    rows: list[list[Any]] = [[] for _ in checked]
    for batch in (yield from context.batches(checked, [profile, *bundles(profile)])):
        places = _Places([signal for several in signals for signal in several])
        for row in (yield batch.run(context.tables, "draw", places, **limits)):
            rows[row[0]].append(row[1:])
    turns: Mapping[UUID, PlacedTurn] = {}
    if lends:
        turns = yield from _turns(context, checked)
    return _pairs(checked, [sorted(its) for its in rows], [len(its) for its in signals], turns)


class _Places:
    """The texts that stand in the statement: the value of each signal."""

    def __init__(self, signals: Sequence[Any]) -> None:
        self.signals = signals

    def __call__(self, values: Values, batch: Batch) -> dict[str, str]:
        start = batch.profiles[0]
        # A decay multiplies the sum, so it may multiply each part.
        times = "{}"
        if start.decay is not None:
            times = expression.decayed("{}", values.known(expression.factor(start.decay)))
        its = {
            f"its_{number}": times.format(values.signal(one))
            for number, one in enumerate(self.signals)
        }
        of_start = [times.format(values.signal(signal)) for signal in start.signals]
        words = start.find(Keyword)
        columns = {
            **its,
            "start": batch.score(values, 0, start),
            "nearness": "compared.similarity",
            "words": "compared.similarity" if words is None else values.signal(words),
            "total": " + ".join(of_start),
        }
        return {
            "scores": ", ".join(f"{text} AS {name}" for name, text in columns.items()),
            "drawn": ", ".join(f"scored.{name}" for name in its),
        }


def _turns(context: Asked, checked: Sequence[CheckedQuery]) -> Operation[dict[UUID, PlacedTurn]]:
    """The turns of the owners."""
    owners = {
        owner
        for numbers in by_owner(checked).values()
        for owner in searched_owners(context.tables, checked[numbers[0]], context.teams)
    }
    rows = yield reads(context.tables, "turns_in_order", all_owners=sorted(owners))
    divisor = Keyword().divisor
    return {
        row.id: PlacedTurn(place, f"{row.agent_id} {row.session}", divisor(row.bytes))
        for place, row in enumerate(rows)
    }


def _pairs(
    checked: Sequence[CheckedQuery],
    rows: Sequence[Sequence[Any]],
    sizes: Sequence[int],
    turns: Mapping[UUID, PlacedTurn],
) -> Pairs:
    blocks, end = [], 0
    for query, its in zip(checked, rows, strict=True):
        relevant = [
            (end + n, query.relevant[row[0]])
            for n, row in enumerate(its)
            if row[0] in query.relevant
        ]
        beside = _beside([row[0] for row in its], turns, end)
        blocks.append(Block(end, end + len(its), relevant, ideal(query.relevant), beside))
        end += len(its)
    flat = [list(values) for values in zip(*(row[1:] for its in rows for row in its), strict=True)]
    columns = iter(flat or [[] for _ in range(sum(sizes))])
    return Pairs([[next(columns) for _ in range(size)] for size in sizes], blocks)


def _beside(
    ids: Sequence[UUID], turns: Mapping[UUID, PlacedTurn], start: int
) -> dict[int, list[tuple[int, int, float]]]:
    """The turns beside each of these memories, among them."""
    known = [(number, turns[id_]) for number, id_ in enumerate(ids, start) if id_ in turns]
    found = {(turn.place, turn.session): (number, turn.divisor) for number, turn in known}
    result: dict[int, list[tuple[int, int, float]]] = {}
    for number, turn in known:
        for distance in range(1, FARTHEST + 1):
            for place in (turn.place - distance, turn.place + distance):
                near = found.get((place, turn.session))
                if near is not None:
                    result.setdefault(number, []).append((near[0], distance, near[1]))
    return result
