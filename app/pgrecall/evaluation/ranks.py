"""The ranks of relevant memories by several profiles, and metrics of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from pgrecall.core.rerankers import Rerank, Reranker, judged_text
from pgrecall.core.steps import Operation
from pgrecall.errors import InputError
from pgrecall.evaluation.batches import Batch, Values
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.schema import Tables
from pgrecall.search.reordering import chosen, judge, order_by

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


def reranker_of(
    value: Rerank | Reranker | bool | None, checked: Sequence[CheckedQuery]
) -> Operation[Rerank | None]:
    """The reranker for a caller's value; None if there is none. Raises InputError, also with the
    number of a query that has no text."""
    rerank = yield from chosen(value)
    for number, query in enumerate(checked if rerank else ()):
        try:
            _text(query)
        except InputError as error:
            raise InputError(f"query {number}: {error}") from None
    return rerank


def _text(query: CheckedQuery) -> str:
    return judged_text(query.query, {"keywords": query.keywords})


def rerank_ranks(
    tables: Tables,
    batches: Sequence[Batch],
    rerank: Rerank,
    checked: Sequence[CheckedQuery],
    profiles: int,
    ranking: Mapping[int, list[Ranks]],
    ranked: Callable[[int], object] = lambda queries: None,
) -> Operation[int]:
    """Changes the ranks by the first profiles, of this number, to those by the reranker, and counts
    for how many queries and profiles the order by score stands. `ranked` is as in `ranks`."""
    stands = 0
    for batch in batches:
        firsts: dict[tuple[int, int], list[Any]] = {}
        for row in (yield batch.run(tables, "firsts", _firsts(profiles), top=rerank.top)):
            firsts.setdefault((row.number, row.profile), []).append(row)
        for (number, profile), rows in firsts.items():
            contents = [row.content for row in rows]
            done = yield from judge(rerank, _text(checked[number]), contents)
            stands += done.values is None
            order = {former: rank for rank, former in enumerate(order_by(done), start=1)}
            ranks, seen = ranking[number][profile], Ranks()
            for former, rank in order.items():
                id_ = rows[former].id
                if id_ in ranks:  # of two owners' memories of one id the better rank counts
                    seen[id_] = min(seen.get(id_, rank), rank)
            ranks.update(seen)
        ranked(len(batch.queries))
    return stands


def _firsts(profiles: int) -> Any:
    """The places of the statement: the best by each of the first profiles."""

    def places(values: Values, batch: Batch) -> dict[str, str]:
        scores, firsts = ["compared.agent_id AS owner_id"], []
        for number, profile in enumerate(batch.profiles[:profiles]):
            its = f"scored.score_{number}"
            scores.append(f"{batch.score(values, number, profile)} AS score_{number}")
            floor = "" if batch.search.min_score is None else f" AND {its} >= :min_score::float8"
            best = f"SELECT {number} AS profile, scored.owner_id, scored.id, {its} AS score"
            ranked = f"FROM scored WHERE {its} IS NOT NULL{floor}"
            order = f"ORDER BY {its} DESC, scored.id LIMIT :top::integer"
            firsts.append(f"({best} {ranked} {order})")
        return {"scores": ", ".join(scores), "firsts": " UNION ALL ".join(firsts)}

    return places
