"""The ranks of relevant memories by several profiles, and metrics of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from pgrecall.core.steps import Ask, Operation, Run
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.measuring import Measure, Values, weighted, weights
from pgrecall.ranking.custom_condition import written
from pgrecall.ranking.entities import known_in_texts
from pgrecall.ranking.filters import Filters
from pgrecall.ranking.owner_facts import owner_facts
from pgrecall.ranking.question import redistributed
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Layout, Tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import EntityOverlap, Keyword, Signal, requires_embedding

Ranks = Mapping[UUID, int]
"""The ranks of the relevant memories that are ranked, from 1."""


def ranks(
    tables: Tables,
    owners: Sequence[str],
    checked: Sequence[CheckedQuery],
    profiles: Sequence[Profile],
    filters: Filters,
    floors: Mapping[str, float],
    as_of: datetime | None,
) -> Operation[list[list[Ranks]]]:
    """For each query, the ranks by each profile, by one statement a query."""
    where = written(tables.memories, filters.where)
    searches = yield from searches_of(tables, owners, checked, profiles, filters, as_of)
    measures: dict[Any, Measure] = {}
    found = []
    for query, bare in zip(checked, searches, strict=True):
        wanted = replace(bare, **floors)  # type: ignore[arg-type]
        named = bool(wanted.query_entities), wanted.query_time is None
        pattern = wanted.options, named, query.recorded
        if pattern not in measures:
            measures[pattern] = _measure(wanted, profiles, recorded=query.recorded)
        rows = yield from measures[pattern].of(
            tables, "ranks", wanted, where, judged_ids=list(query.relevant), **period(wanted)
        )
        found.append([_better(rows, number) for number in range(1, len(profiles) + 1)])
    return found


def searches_of(
    tables: Tables,
    owners: Sequence[str],
    checked: Sequence[CheckedQuery],
    profiles: Sequence[Profile],
    filters: Filters,
    as_of: datetime | None,
) -> Operation[list[Search]]:
    """The search of each query, by the first profile."""
    layout: Layout = yield Ask("layout")
    known = yield owner_facts(tables, owners)
    entities = [query.query_entities or () for query in checked]
    if _read(profiles, EntityOverlap):
        entities = yield from _known_entities(tables, owners, checked)
    reads_words = _read(profiles, Keyword)
    return [
        Search(
            agent_id=owners[0],
            query=query.vector,
            k=1,
            profile=profiles[0],
            filters=filters,
            teams=owners[1:],
            query_entities=entities[number],
            query_text=query.query_text if reads_words else None,
            query_time=query.query_time,
            as_of=query.as_of or as_of,
            is_large=known[0].is_large,
            distributed=layout.distributed,
        )
        for number, query in enumerate(checked)
    ]


def period(wanted: Search) -> dict[str, datetime]:
    """The parameters with the period of a query, whether the first profile weighs it or not."""
    if wanted.query_time is None:
        return {}
    return dict(zip(("period_from", "period_to"), wanted.query_time, strict=True))


def _read(profiles: Sequence[Profile], kind: type[Signal]) -> bool:
    return any(isinstance(signal, kind) for profile in profiles for signal in profile.signals)


def _known_entities(
    tables: Tables, owners: Sequence[str], checked: Sequence[CheckedQuery]
) -> Operation[list[Sequence[str]]]:
    """The entities of each query; those in its text unless it names them."""
    texts = {
        number: query.query if isinstance(query.query, str) else query.query_text
        for number, query in enumerate(checked)
        if query.query_entities is None
    }
    found: dict[int, Sequence[str]] = {}
    if texts:
        given = {"owners": list(owners), "texts": list(texts.values())}
        rows = yield Run(known_in_texts(tables), given)
        numbers = list(texts)
        found = {numbers[row.number - 1]: row.entities for row in rows}
    return [query.query_entities or found.get(number, ()) for number, query in enumerate(checked)]


def _measure(wanted: Search, profiles: Sequence[Profile], *, recorded: bool) -> Measure:
    """The scores by all these profiles, of any query that has values for the same signals."""
    values, scores, columns = Values(), [], []
    options: set[str] = {"recorded"} if recorded else set()
    parameters: dict[str, float] = {}
    searches = [
        replace(
            wanted,
            profile=redistributed(
                replace(wanted, profile=profile),
                has_query=wanted.query is not None,
                entities=wanted.query_entities,
            ),
        )
        for profile in profiles
    ]
    for number, one in enumerate(searches, start=1):
        options |= one.options - {"embedding"}
    for number, one in enumerate(searches, start=1):
        redistributes = {"redistributes"} & one.options
        score = weighted(
            values, one.profile, frozenset(options - {"redistributes"} | redistributes), number
        )
        if wanted.query is not None and requires_embedding(one.profile.signals):
            has_one = values["(agent_memories.embedding IS NOT NULL)::integer::float8"]
            score = f"CASE WHEN {has_one} = 1::float8 THEN {score} END"
        scores.append(f"{score} AS score_{number}")
        is_ranked = f"wanted.score_{number} IS NOT NULL"
        if wanted.min_score is not None:
            is_ranked = f"wanted.score_{number} >= :min_score::float8"
        columns.append(
            f"CASE WHEN {is_ranked} THEN 1 + count(*) FILTER (WHERE (wanted.score_{number}, "
            f"scored.id) < (scored.score_{number}, wanted.id)) END AS rank_{number}"
        )
        parameters |= weights(one.profile, number)
    places = {"scores": ", ".join(scores), "ranks": ", ".join(columns)}
    return Measure(frozenset(options), values, places, parameters)


def _better(rows: Sequence[Any], number: int) -> dict[UUID, int]:
    """The ranks by one profile. If two owners have a memory of one id, the better rank counts."""
    found: dict[UUID, int] = {}
    for row in rows:
        rank = row[number]
        if rank is not None:
            found[row.id] = min(found.get(row.id, rank), rank)
    return found


def metrics(gains: Mapping[UUID, float], ranks: Ranks, k: int) -> dict[str, float]:
    """Each of METRICS of one query."""
    within = {id_: rank for id_, rank in ranks.items() if rank <= k}
    return {
        "recall": len(within) / len(gains),
        "mrr": 1 / min(ranks.values()) if ranks else 0.0,
        "ndcg": math.fsum(gains[id_] / math.log2(1 + rank) for id_, rank in within.items())
        / ideal(gains, k),
    }


def ideal(gains: Mapping[UUID, float], k: int | None = None) -> float:
    """The discounted gain of the ideal order, over the first k ranks or all."""
    best = sorted(gains.values(), reverse=True)[:k]
    return math.fsum(gain / math.log2(1 + rank) for rank, gain in enumerate(best, start=1))
