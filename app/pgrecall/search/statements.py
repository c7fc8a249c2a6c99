"""The statements that rank memories, each made once for searches of one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.rank_index.index import Sources
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.fields import USAGE
from pgrecall.search.matched import Rows, folded, reads
from pgrecall.search.shape import Shape, indented, shape_of, statement, table

_COUNTED: Final = """\
counted AS MATERIALIZED (
    SELECT sum(pgrecall.touch(owner.agent_id, owner.ids, :accessed::boolean, :durable::boolean))
      FROM (SELECT agent_id, pg_catalog.array_agg(id) AS ids FROM {chosen}
             GROUP BY agent_id ORDER BY agent_id OFFSET 0) owner)"""
"""Counts one retrieval of each hit, in key order, so that concurrent touches cannot deadlock."""
_TURNS: Final = """\
keys AS (
    SELECT DISTINCT ON (hit.agent_id, near.id) hit.agent_id, near.id, hit.id AS attached_to
      FROM unnest(:hit_owners::text[], :hit_ids::uuid[], :hit_scores::float8[])
           hit(agent_id, id, score)
     CROSS JOIN LATERAL pgrecall.turns_beside(
                hit.agent_id, hit.id, :surrounding_turns::integer) near
     WHERE (hit.agent_id, near.id) NOT IN (
           SELECT other.agent_id, other.id
             FROM unnest(:hit_owners::text[], :hit_ids::uuid[]) other(agent_id, id))
     ORDER BY hit.agent_id, near.id, hit.score DESC, hit.id)"""
"""The turns next to hits, each with the best of these."""
_LINKED: Final = """\
reached AS (
    SELECT hit.agent_id, hit.id, 0 AS hops
      FROM unnest(:hit_owners::text[], :hit_ids::uuid[]) hit(agent_id, id)
     UNION
    SELECT reached.agent_id, near.id, reached.hops + 1
      FROM reached CROSS JOIN LATERAL (
          (SELECT target_id AS id FROM pgrecall.memory_links
            WHERE {own}agent_id = reached.agent_id AND source_id = reached.id OFFSET 0)
          UNION ALL
          (SELECT source_id FROM pgrecall.memory_links
            WHERE {own}agent_id = reached.agent_id AND target_id = reached.id OFFSET 0)) near
     WHERE reached.hops < :hops::integer),
keys AS (
    SELECT agent_id, id, min(hops) AS hops FROM reached
     GROUP BY agent_id, id HAVING min(hops) > 0)"""
"""The memories within some links of hits."""
_CANDIDATES: Final = """\
sources AS (
    SELECT *
      FROM unnest(:indexed_owners::text[], :relations::text[], :directions::text[],
                  :used_directions::text[], :written_until::timestamptz[]) WITH ORDINALITY
           source(agent_id, relation, direction, used_direction, written_until, number)),
keys AS (
    SELECT sources.agent_id, found.memory_id AS id,
           min(sources.number) FILTER (WHERE found.from_index) AS source
      FROM sources CROSS JOIN LATERAL (SELECT {times} AS times) more
{candidates}
     GROUP BY sources.agent_id, found.memory_id)"""
"""The candidates of rank indexes and everything newer; `source`: the number of the index that has
it. What a query names is neither in positions nor in words: three times as many then."""
_BY_POSITION: Final = """\
     CROSS JOIN LATERAL pgrecall.rank_candidates(sources.agent_id, sources.relation,
                sources.direction, more.times * :candidates::integer, sources.written_until,
                sources.used_direction, :reach::integer) found"""
_BY_WORDS: Final = """\
     CROSS JOIN LATERAL (
           SELECT coalesce(pg_catalog.array_agg(term ORDER BY term), '{}') AS terms,
                  coalesce(pg_catalog.array_agg(memories ORDER BY term), '{}') AS memories,
                  coalesce(pg_catalog.array_agg(weight ORDER BY term), '{}') AS weights
             FROM terms WHERE terms.agent_id = sources.agent_id) its
     CROSS JOIN LATERAL pgrecall.rank_candidates(sources.agent_id, sources.relation,
                sources.direction, more.times * :candidates::integer, sources.written_until,
                sources.used_direction,
                greatest(:reach::integer, 2 * more.times * :candidates::integer),
                :keyword_weight::float8, its.terms, its.memories, its.weights,
                :keyword_b::float8, :keyword_pivot::float8) found"""


def of_all(tables: Tables, search: Search, *, counts: bool = False, **values: Any) -> Run:
    """The k best of all memories; it may count them."""
    options, may_prepare = ("counts",) if counts else (), search.may_prepare
    return _run(tables, search, options, _search, may_prepare=may_prepare, counts=counts, **values)


def of_candidates(
    tables: Tables, search: Search, sources: Sources, values: Mapping[str, Any]
) -> Run:
    """The k best among the candidates of rank indexes, and of all memories of agents without one.

    Each row has `passed`, how many candidates of the index with the fewest pass, and `total`. The
    caller needs both even if no row reaches min_score, so it must apply that itself.
    """
    options = ["index", *(["whole"] if sources.whole else [])]
    return _run(tables, search, options, _search, exact=False, **values)


def turns_of(
    tables: Tables, search: Search, hits: Mapping[str, Sequence[Any]], *, exact: bool
) -> Run:
    """The turns next to hits that are no hits themselves, with `attached_to`."""
    return _run(tables, search, (), _turns, hits, exact=exact)


def linked_to(
    tables: Tables, search: Search, hits: Mapping[str, Sequence[Any]], hops: int, most: int
) -> Run:
    """The best memories within so many links of hits, with their `hops`."""
    return _run(tables, search, (), _linked, hits, exact=True, hops=hops, ranked=most)


def touches(tables: Tables, hits: Sequence[tuple[str, UUID]], how: Mapping[str, bool]) -> Run:
    """Counts a retrieval of hits of several agents."""
    agents, ids = zip(*hits, strict=True)
    given = {"hit_owners": [*agents], "hit_ids": [*ids], **how}
    return Run(_touch(tables.schema), given, counts=True)


def _run(
    tables: Tables,
    search: Search,
    options: Sequence[str],
    make: Callable[[Shape], Statement],
    given: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    *,
    may_prepare: bool = True,
    counts: bool = False,
    **values: Any,
) -> Run:
    """The statement that `make` makes of the search's shape with these options."""
    shape, parameters = shape_of(tables, search, *options)
    return Run(
        make(shape), parameters | dict(given) | values, may_prepare=may_prepare, counts=counts
    )


@lru_cache
def _touch(schema: str) -> Statement:
    hits = "unnest(:hit_owners::text[], :hit_ids::uuid[]) hit(agent_id, id)"
    text = f"/* pgrecall touch */\nWITH {_COUNTED.format(chosen=hits)}\nSELECT * FROM counted"
    return Statement(Rows(schema, {}).in_schema(text))


@lru_cache(maxsize=512)
def _search(shape: Shape) -> Statement:
    """Keys and scores of the best memories first, and then their rows."""
    form, indexed = shape.form, shape.has("index")
    begun = [*_sources(shape), _best(shape)] if indexed else [_best(shape)]
    floor = "" if indexed else shape.floor
    columns = [*shape.described(shape.carried), "score", *(["passed", "total"] if indexed else [])]
    read = reads(*shape.described(shape.rows)) - reads(*_carried(shape))
    listed = folded(f"SELECT {', '.join(columns)}", 0, 7, width=100)
    lines = [listed, form.of_best(read)]
    if shape.has("counts"):
        begun.append(_COUNTED.format(chosen=f"best{floor}"))
        lines.append("  CROSS JOIN counted")
    lines += [*filter(None, [floor]), " ORDER BY score DESC, m.id"]
    return statement(shape, "search", begun, lines)


@lru_cache(maxsize=512)
def _turns(shape: Shape) -> Statement:
    columns = [*shape.described(shape.rows), f"{shape.score} AS score", "k.attached_to"]
    outside = shape.outside(relevance=False)
    source = shape.form.of_keys("keys", shape.inside, outside, reads(*columns, *outside))
    lines = [folded(f"SELECT {', '.join(columns)}", 0, 7), source]
    return statement(shape, "turns", [_TURNS], lines)


@lru_cache(maxsize=512)
def _linked(shape: Shape) -> Statement:
    columns = [*shape.described(shape.rows), f"{shape.score} AS score", "k.hops"]
    outside = shape.outside()
    source = shape.form.of_keys("keys", shape.inside, outside, reads(*columns, *outside))
    lines = [folded(f"SELECT {', '.join(columns)}", 0, 7), source]
    if shape.has("min_score"):
        hits = "\n".join(lines)
        lines = [f"SELECT * FROM (\n{indented(hits)}\n) best", shape.floor]  # noqa: S608  ours
    lines.append(" ORDER BY score DESC, id LIMIT :ranked::integer")
    own = "agent_id = :agent_id::text AND " if shape.form.routed else ""
    begun = [_LINKED.format(own=own)]
    return statement(shape, "linked", begun, lines, recursive=True)


def _best(shape: Shape) -> str:
    """The common table expression of the keys and scores of the best memories."""
    columns = ", ".join(["m.agent_id", "m.id", f"{shape.score} AS score", *_carried(shape)])
    outside, inside = shape.outside(), shape.inside
    read = reads(columns, *outside)
    order = f" ORDER BY score DESC, m.id LIMIT {shape.form.limit}"
    if not shape.has("index"):
        every = [folded(f"SELECT {columns}", 0, 7), shape.form.of_all(inside, outside, read), order]
        return table("best", "\n".join(every))
    found = folded(f"SELECT {columns}, k.source", 0, 7)
    every = [found, shape.form.of_keys("keys", inside, outside, read)]
    if shape.has("whole"):
        found = folded(f"SELECT {columns}, NULL", 0, 7)
        every += [" UNION ALL", found, shape.form.of_all(inside, outside, read)]
    return f"""\
{table("every", chr(10).join(every))},
best AS (
    SELECT every.*, count(*) OVER () AS total,
           (SELECT min(coalesce(counted.passed, 0))
              FROM sources
              LEFT JOIN (SELECT source, count(*) AS passed FROM every GROUP BY source) counted
                ON counted.source = sources.number) AS passed
      FROM every
     ORDER BY score DESC, id LIMIT {shape.form.limit}
)"""  # noqa: S608  ours


def _carried(shape: Shape) -> list[str]:
    """What the second phase takes from the first, which has read it. Usage looked up again by a
    plan from before there was any would be scanned as a whole for each hit."""
    usage = [f"u.{one.name}" for one in USAGE]
    if "u" not in reads(shape.score, *shape.outside()):
        usage = []
    return [*usage, "w.share", "w.coverage"] if shape.has("words") else usage


def _sources(shape: Shape) -> list[str]:
    """The common table expression `keys` of the candidates of rank indexes."""
    by_words = shape.has("keyword", "words")
    times = "1"
    if shape.has("naming"):
        times = "(SELECT CASE WHEN names_in_query > 0 THEN 3 ELSE 1 END FROM query_facts LIMIT 1)"
    elif shape.has("named"):
        times = "3"
    return [_CANDIDATES.format(times=times, candidates=_BY_WORDS if by_words else _BY_POSITION)]
