"""The ranks of relevant memories by several profiles, and metrics of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, any_, bindparam, select

from pgrecall.core.rerankers import Rerank, Reranker, judged_text
from pgrecall.core.statement import Statement
from pgrecall.core.steps import Operation, Run
from pgrecall.errors import InputError
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.scored import Asked, Scored, ask
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile
from pgrecall.search.reordering import chosen, judge, order_by
from pgrecall.search.shape import Shape

Id = TypeVar("Id", bound=Hashable)
Ranks = dict[UUID, int]
"""The ranks of the relevant memories that are ranked, from 1."""


def ranks(
    asked: Asked,
    query: CheckedQuery,
    profiles: Sequence[Profile],
) -> Operation[list[Ranks]]:
    """The ranks of a query by each profile."""
    searches = yield from asked.searches(query, profiles)
    found: list[Ranks] = [{} for _ in profiles]
    judged = {"judged": [*query.relevant]}
    for row in (yield from ask(asked, "ranks", searches, no_more, _ranks, **judged)):
        for name, rank in row._asdict().items():
            if name.startswith("rank_") and rank is not None:
                # If two agents have a memory of one id, the better rank counts.
                its = found[int(name.removeprefix("rank_"))]
                its[row.id] = min(its.get(row.id, rank), rank)
    return found


def no_more(shape: Shape, scored: Sequence[Scored]) -> dict[str, str]:
    """No columns besides the scores."""
    return {}


def _ranks(scored: Sequence[Scored], has_least: bool) -> str:
    """A rank is 1 and the number of memories before it, best first, ties by id; NULL if it is not
    ranked."""
    columns = []
    for place in (one.place for one in scored):
        is_ranked = f"wanted.score_{place} IS NOT NULL"
        if has_least:
            is_ranked = f"wanted.score_{place} >= :min_score::float8"
        before = f"(wanted.score_{place}, scored.id) < (scored.score_{place}, wanted.id)"
        columns.append(
            f"CASE WHEN {is_ranked} THEN 1 + count(*) FILTER (WHERE {before}) END AS rank_{place}"
        )
    return f"""SELECT wanted.id, counted.*
  FROM scored wanted
 CROSS JOIN LATERAL (SELECT {", ".join(columns)} FROM scored) counted
 WHERE wanted.id = ANY (:judged::uuid[])"""  # noqa: S608  ours


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
    asked: Asked,
    rerank: Rerank,
    query: CheckedQuery,
    profiles: Sequence[Profile],
    ranking: list[Ranks],
) -> Operation[int]:
    """Changes the ranks by these first profiles to those by the reranker, and counts for how many
    of them the order by score stands."""
    searches = yield from asked.searches(query, profiles)
    firsts: dict[int, list[Any]] = {place: [] for place, _ in enumerate(profiles)}
    rows = yield from ask(asked, "firsts", searches, no_more, _firsts, top=rerank.top)
    for row in rows:
        firsts[row.profile].append(row)
    owners = [searches[0].agent_id, *searches[0].teams]
    ids = list({row.id for row in rows})
    contents = {
        (row.agent_id, row.id): row.content
        for row in (yield Run(existing(asked.tables), {"all_owners": owners, "ids": ids}))
    }
    stands = 0
    for place, its in firsts.items():
        texts = [contents.get((row.agent_id, row.id), "") for row in its]
        done = yield from judge(rerank, _text(query), texts)
        stands += done.values is None
        order = {former: rank for rank, former in enumerate(order_by(done), start=1)}
        seen = Ranks()
        for former, rank in order.items():
            id_ = its[former].id
            if id_ in ranking[place]:  # of two agents' memories of one id the better rank counts
                seen[id_] = min(seen.get(id_, rank), rank)
        ranking[place].update(seen)
    return stands


def _firsts(scored: Sequence[Scored], has_least: bool) -> str:
    """The best by each profile, best first, ties by id."""
    parts = []
    for place in (one.place for one in scored):
        score = f"scored.score_{place}"
        ranked = f"{score} >= :min_score::float8" if has_least else f"{score} IS NOT NULL"
        parts.append(
            f"(SELECT {place} AS profile, scored.agent_id, scored.id, {score} AS score"  # noqa: S608  ours
            f" FROM scored WHERE {ranked}"
            f" ORDER BY {score} DESC, scored.id LIMIT :top::integer)"
        )
    united = " UNION ALL ".join(parts)
    return f"SELECT its.* FROM ({united}) its ORDER BY profile, score DESC, id"  # noqa: S608  ours


@lru_cache
def existing(tables: Tables) -> Statement:
    """Those of some `ids` that are memories of `all_owners`, on any node."""
    m = tables.memories.c
    owned = m.agent_id == any_(bindparam("all_owners", type_=ARRAY(Text)))
    named = m.id == any_(bindparam("ids", type_=ARRAY(Uuid)))
    return Statement.of("existing", select(m.agent_id, m.id, m.content).where(owned, named))
