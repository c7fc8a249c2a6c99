"""The statement that explains: one memory, and its place among all that a search ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final
from uuid import UUID

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.search.matched import folded, reads, relation
from pgrecall.search.shape import Shape, shape_of, statement, table

_KEYS: Final = """\
keys AS (
    SELECT agent_id, :id::uuid AS id, true AS is_asked
      FROM pg_catalog.unnest(:agents::text[]) agent_id
     UNION ALL
    (SELECT agent_id, id, false FROM scored
      ORDER BY score DESC, id OFFSET :k::integer - 1 LIMIT 1))"""
"""The memory of this id of each agent that has one; and the last of the k best."""
_TERMS: Final = """\
(SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(
           one.term, one.term = ANY (its.own), one.weight, one.memories))
   FROM (SELECT tsvector_to_array(m.terms) AS own OFFSET 0) its
  CROSS JOIN pgrecall.term_weights(m.agent_id, :keywords::text, true, :worded_owners::text[],
                                   :as_of::timestamptz) one
  WHERE k.is_asked) AS query_terms"""
"""The terms of the query: whether the memory has each, its weight, and how many memories do."""
_PLACED: Final = """\
SELECT found.*, numbers.ranked, numbers.before{beside}
  FROM found
 CROSS JOIN LATERAL (
       SELECT count(*) AS ranked,
              count(*) FILTER (WHERE scored.score > found.score
                                  OR scored.score = found.score AND scored.id < found.id) AS before
         FROM scored) numbers"""
"""ranked: how many memories pass. before: how many of them come before it."""
_BESIDE: Final = """,
       (SELECT hit.id
          FROM (SELECT * FROM scored{floor} ORDER BY score DESC, id LIMIT :k::integer) hit
         WHERE hit.agent_id = found.agent_id
           AND hit.id IN (SELECT near.id
                            FROM pgrecall.turns_beside(found.agent_id, found.id,
                                     :surrounding_turns::integer) near)
         ORDER BY hit.score DESC, hit.id LIMIT 1) AS hit_beside"""
"""The best hit whose turn it is next to."""


def explained(tables: Tables, search: Search, memory_id: UUID) -> Run:
    """The memory of this id, with `is_asked`, and the last of the k best: each as a hit, with the
    names of conditions that are `unmet`, `ranked` and `before`."""
    shape, parameters = shape_of(tables, search)
    return Run(_explain(shape), parameters | {"id": memory_id}, search.may_prepare)


def scores(tables: Tables, search: Search) -> Run:
    """The score of every memory that a search ranks."""
    shape, parameters = shape_of(tables, search)
    return Run(_scores(shape), parameters, search.may_prepare)


def _conditions(shape: Shape) -> Mapping[str, str]:
    """What a memory must meet; a part of the filter is named by its number."""
    parts = {f"{number}": shape.met(one) for number, one in enumerate(shape.filters)}
    return {**shape.named, **parts, **shape.relevant}


@lru_cache(maxsize=256)
def _explain(shape: Shape) -> Statement:
    form = shape.form
    tested = ", ".join(
        f"CASE WHEN {text} THEN NULL ELSE '{name}' END" for name, text in _conditions(shape).items()
    )
    unmet = f"pg_catalog.array_remove(ARRAY[{tested}]::text[], NULL)"
    columns = [*shape.described(shape.rows), f"{shape.score} AS score", "k.is_asked"]
    columns.append(f"(SELECT {unmet} FROM (SELECT m.*) m) AS unmet")  # noqa: S608  ours
    read = reads(*columns)
    lines = [folded(f"SELECT {', '.join(columns)}", 0, 7)]
    if shape.has("keyword", "words"):
        lines.append(f"     , {_TERMS}")
    lines.append(form.of_keys("keys", (), (), read - {"w"}))
    if "w" in read:
        lines.append(f"  LEFT JOIN words w ON {relation().joins['w']}")
    found = table("found", "\n".join(lines), materialized=True)
    begun = [_scored(shape, words="words"), _KEYS, found]
    if shape.has("words"):
        shares = f"SELECT w.* FROM {form.shares}"  # noqa: S608  ours
        begun.insert(0, table("words", shares, materialized=True))
    beside = _BESIDE.format(floor=shape.floor.replace("best", "scored"))
    last = _PLACED.format(beside=beside if shape.has("surrounding_turns") else "")
    return statement(shape, "explain", begun, [last])


@lru_cache(maxsize=64)
def _scores(shape: Shape) -> Statement:
    return statement(shape, "scores", [_scored(shape)], ["SELECT * FROM scored"])


def _scored(shape: Shape, words: str | None = None) -> str:
    """The common table expression of the score of every memory that a search ranks."""
    form = shape.form if words is None else replace(shape.form, words=words)
    columns, outside = f"m.agent_id, m.id, {shape.score} AS score", shape.outside()
    source = form.of_all(shape.inside, outside, reads(columns, *outside))
    text = "\n".join((folded(f"SELECT {columns}", 0, 7), source))
    return table("scored", text, materialized=True)
