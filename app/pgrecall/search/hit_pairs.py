"""What hits have to do with each other: how alike they are, and which turns stand next to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Operation, Run
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.scored_memory import ScoredMemory

Similarities = list[list[float]]


def similarities(
    tables: Tables, search: Search, hits: Sequence[ScoredMemory]
) -> Operation[Similarities]:
    """The cosine of each two hits, at least 0; 0 if one has no embedding."""
    values = _named(hits) | {"agents": [search.agent_id, *search.teams]}
    statement = _similarities(tables)
    if search.spans_nodes:  # no statement joins the memories of agents on several nodes
        statement, values = _given_similarities(tables), {"vectors": [None] * len(hits)}
        for agent_id in {hit.memory.owner_id for hit in hits}:
            own = [place for place, hit in enumerate(hits) if hit.memory.owner_id == agent_id]
            ids = [hits[place].memory.id for place in own]
            for row in (yield Run(_vectors(tables), {"owner_id": agent_id, "ids": ids})):
                values["vectors"][own[row.place - 1]] = row.vector
    alike = [[0.0] * len(hits) for _ in hits]
    for row in (yield Run(statement, values)):
        for other, similarity in zip(row.others, row.similarities, strict=True):
            alike[row.place - 1][other - 1] = similarity
    return alike


def turns_beside(
    tables: Tables, hits: Sequence[ScoredMemory], number: int
) -> Operation[dict[int, list[int]]]:
    """The place of each hit → the places of those turns next to it that are among the hits, the
    nearest first. `number` is how many stand on each side."""
    places = {(hit.memory.owner_id, hit.memory.id): place for place, hit in enumerate(hits)}
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in (yield Run(_beside(tables), _named(hits) | {"number": number})):
        place = row.place - 1
        turn = places.get((hits[place].memory.owner_id, row.id))
        if turn is not None:
            found[place].append((row.distance, turn))
    return {place: [turn for _, turn in sorted(turns)] for place, turns in found.items()}


def _named(hits: Sequence[ScoredMemory]) -> dict[str, list[object]]:
    memories = [hit.memory for hit in hits]
    return {
        "owners": [memory.owner_id for memory in memories],
        "ids": [memory.id for memory in memories],
    }


_PAIRS = """
SELECT one.place, pg_catalog.array_agg(other.place) AS others,
       pg_catalog.array_agg("{schema}".similarity(one.embedding, other.embedding, 0))
       AS similarities
  FROM hits one CROSS JOIN hits other GROUP BY one.place"""


@lru_cache
def _similarities(tables: Tables) -> Statement:
    return Statement(
        f"""/* pgrecall similarities */
WITH hits AS MATERIALIZED (
    SELECT named.place, m.embedding
      FROM unnest(:owners::text[], :ids::uuid[])
           WITH ORDINALITY named(agent_id, id, place)
      JOIN "{tables.schema}".agent_memories m ON m.agent_id = named.agent_id AND m.id = named.id
     WHERE m.agent_id = ANY (:agents::text[]))"""  # noqa: S608  ours
        + _PAIRS.format(schema=tables.schema)
    )


@lru_cache
def _vectors(tables: Tables) -> Statement:
    return Statement(
        f"""/* pgrecall vectors */
SELECT pg_catalog.array_position(:ids::uuid[], m.id) AS place, m.embedding::text AS vector
  FROM "{tables.schema}".agent_memories m
 WHERE m.agent_id = :owner_id::text AND m.id = ANY (:ids::uuid[])"""  # noqa: S608  ours
    )


@lru_cache
def _given_similarities(tables: Tables) -> Statement:
    memory = f'"{tables.schema}".agent_memories'
    return Statement(
        f"""/* pgrecall similarities */
WITH hits AS MATERIALIZED (
    SELECT given.turn AS place, given.embedding
      FROM pg_catalog.jsonb_populate_recordset(NULL::{memory}, (
           SELECT pg_catalog.jsonb_agg(
                      pg_catalog.jsonb_build_object('turn', v.place, 'embedding', v.v))
             FROM pg_catalog.unnest(:vectors::text[]) WITH ORDINALITY v(v, place))) given)"""  # noqa: S608  ours
        + _PAIRS.format(schema=tables.schema)
    )


@lru_cache
def _beside(tables: Tables) -> Statement:
    return Statement(
        f"""/* pgrecall turns_beside */
SELECT named.place, near.id, near.distance
  FROM unnest(:owners::text[], :ids::uuid[])
       WITH ORDINALITY named(agent_id, id, place)
 CROSS JOIN LATERAL "{tables.schema}".turns_beside(
       named.agent_id, named.id, :number::integer) near"""  # noqa: S608  ours
    )
