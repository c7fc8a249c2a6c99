"""The ranks of relevant memories by several profiles, and metrics of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from pgrecall.core.steps import Operation
from pgrecall.evaluation.batches import Batch, Values
from pgrecall.schema import Tables

Id = TypeVar("Id", bound=Hashable)
Ranks = dict[UUID, int]
"""The ranks of the relevant memories that are ranked, from 1."""


def ranks(
    tables: Tables,
    batches: Sequence[Batch],
    ranked: Callable[[int], object] = lambda queries: None,
) -> Operation[dict[int, list[Ranks]]]:
    """The ranks of each query, by its number, for each profile. `ranked` is called after each batch
    with the number of its queries."""
    ranks_by_query: dict[int, list[Ranks]] = {}
    for batch in batches:
        for number in batch.queries:
            ranks_by_query[number] = [{} for _ in batch.profiles]
        for row in (yield batch.run(tables, "ranks", _places)):
            for its, rank in zip(ranks_by_query[row.number], row[2:], strict=True):
                if rank is not None:
                    # If two owners have a memory of one id, the better rank counts.
                    its[row.id] = min(its.get(row.id, rank), rank)
        ranked(len(batch.queries))
    return ranks_by_query


def _places(values: Values, batch: Batch) -> dict[str, str]:
    scores, columns = [], []
    for number, profile in enumerate(batch.profiles):
        scores.append(f"{batch.score(values, number, profile)} AS score_{number}")
        its, is_ranked = f"wanted.score_{number}", f"wanted.score_{number} IS NOT NULL"
        if batch.search.min_score is not None:
            is_ranked = f"{its} >= :min_score::float8"
        before = f"({its}, scored.id) < (scored.score_{number}, wanted.id)"
        columns.append(
            f"CASE WHEN {is_ranked} THEN 1 + count(*) FILTER (WHERE {before}) END AS rank_{number}"
        )
    return {"scores": ", ".join(scores), "ranks": ", ".join(columns)}


def metrics(gains: Mapping[Id, float], ranks: Mapping[Id, int], k: int) -> dict[str, float]:
    """Each of METRICS of one query."""
    within = {id_: rank for id_, rank in ranks.items() if rank <= k}
    reached = math.fsum(gains[id_] / math.log2(1 + rank) for id_, rank in within.items())
    return {
        "recall": len(within) / len(gains),
        "mrr": 1 / min(ranks.values()) if ranks else 0.0,
        "ndcg": reached / ideal(gains, k),
    }


def ideal(gains: Mapping[Id, float], k: int | None = None) -> float:
    """The discounted gain of the ideal order, over the first k ranks or all."""
    best = sorted(gains.values(), reverse=True)[:k]
    return math.fsum(gain / math.log2(1 + rank) for rank, gain in enumerate(best, start=1))
