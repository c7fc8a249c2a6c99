"""The statements that rank memories, each made once for searches of one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Double, literal_column, null

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.rank_index.index import Sources
from pgrecall.ranking.conditions import condition
from pgrecall.ranking.custom_condition import written
from pgrecall.ranking.filter_keys import COMPUTED, DECAYED_TRUST, SIMILARITY
from pgrecall.ranking.filters import Comparison, Group, Node
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.columns import field_type
from pgrecall.schema.fields import COUNTERS, FIELD, ROW, USAGE
from pgrecall.scoring.expression import boolean, counts_subjects, shift_of
from pgrecall.scoring.score import call, factor, has_value, is_known, score_of, signal_expression
from pgrecall.scoring.signals import Decay, Signal
from pgrecall.search.matched import Form, Rows, compiled, folded, reads

_COUNTED: Final = """\
counted AS MATERIALIZED (
    SELECT sum(pgrecall.touch(owner.agent_id, owner.ids, :accessed::boolean, :durable::boolean))
      FROM (SELECT agent_id, array_agg(id) AS ids FROM {chosen}
             GROUP BY agent_id ORDER BY agent_id OFFSET 0) owner)"""
"""Counts one retrieval of each hit, in key order, so that concurrent touches cannot deadlock."""
_WORDED: Final = """\
worded AS MATERIALIZED (
    SELECT array_agg(memory_id) AS memories, array_agg(share) AS shares,
           array_agg(coverage) AS coverages, array_agg(agent_id) AS owners
      FROM {words})"""
"""The words' shares as arrays, which a parallel plan hands to its processes: each of them would
compute the shares again."""
_TERMS: Final = """\
terms AS MATERIALIZED (
    SELECT owner.agent_id, found.term, found.memories, found.weight, found.idf
      FROM unnest(:agents::text[]) owner(agent_id)
     CROSS JOIN LATERAL pgrecall.term_weights(owner.agent_id, :keywords::text, :exact::boolean,
                            :worded_owners::text[], :as_of::timestamptz) found)"""
"""exact: counted now, and not when the rank index was built."""
_TURNS: Final = """\
keys AS (
    SELECT DISTINCT ON (hit.agent_id, near.id) hit.agent_id, near.id, hit.id AS attached_to
      FROM unnest(:hit_owners::text[], :hit_ids::uuid[], :hit_scores::float8[])
           hit(agent_id, id, score)
     CROSS JOIN LATERAL pgrecall.turns_beside(
                hit.agent_id, hit.id, :surrounding_turns::integer) near
     WHERE near.id <> ALL (:hit_ids::uuid[])
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
           SELECT coalesce(array_agg(term ORDER BY term), '{}') AS terms,
                  coalesce(array_agg(memories ORDER BY term), '{}') AS memories,
                  coalesce(array_agg(weight ORDER BY term), '{}') AS weights
             FROM terms WHERE terms.agent_id = sources.agent_id) its
     CROSS JOIN LATERAL pgrecall.rank_candidates(sources.agent_id, sources.relation,
                sources.direction, more.times * :candidates::integer, sources.written_until,
                sources.used_direction,
                greatest(:reach::integer, 2 * more.times * :candidates::integer),
                :keyword_weight::float8, its.terms, its.memories, its.weights,
                :keyword_b::float8, :keyword_pivot::float8) found"""


@dataclass(frozen=True)
class Shape:
    """What the text of a statement depends on."""

    tables: Tables
    options: frozenset[str]
    """Those of the search, and of the statement."""
    signals: tuple[Signal, ...]
    decay: Decay | None
    filters: tuple[Node | str, ...] = ()
    """The conditions of the filter; a SQLAlchemy condition as text on `m`."""

    def has(self, *options: str) -> bool:
        """True if it has all of these options."""
        return self.options.issuperset(options)

    @cached_property
    def rows(self) -> Rows:
        """The columns of matched."""
        return Rows(self.tables.schema, self._values)

    @cached_property
    def carried(self) -> Rows:
        """The same where `best` has those of usage and words, so that all names are unique."""
        return Rows(self.tables.schema, self._values, dict.fromkeys("muwq", ""))

    @cached_property
    def form(self) -> Form:
        """How its statements are planned."""
        return Form(
            several=self.has("teams"),
            large=self.has("large"),
            routed=self.has("distributed"),
            words="pgrecall.keyword_shares(:whole_owners::text[], :keywords::text, "
            f":worded_owners::text[], {self._as_of})",
            facts=f"pgrecall.query_facts({', '.join(self._facts)})",
        )

    @property
    def _as_of(self) -> str:
        return ":as_of::timestamptz" if self.has("as_of") else "NULL"

    @property
    def _facts(self) -> list[str]:
        given, naming = self.has("given_names"), self.has("naming")
        return [
            ":agents::text[]",
            ":query" if self.has("query") else "NULL",
            ":keywords::text" if self.has("words") else "NULL",
            ":naming_text::text" if naming and not given else "NULL",
            ":query_entities::text[]" if given else "NULL",
            "NULL",
            repr(float(max(map(shift_of, self.signals), default=0.0))),
            boolean(counts_subjects(self.signals)),
            self._as_of,
        ]

    @cached_property
    def _values(self) -> Mapping[str, str]:
        """What stands for the places of sql/matched.sql, and for columns that are known."""
        has, values = self.has, {"as_of": self._as_of, "moment": "now()"}
        if has("as_of"):
            values["moment"] = self._as_of
        else:
            values["last_accessed_at"] = "u.last_accessed_at"
        values["has_query"] = boolean(has("query"))
        if has("query"):
            values["query"] = ":query"
        else:
            values |= dict.fromkeys(("cosine", "similarity", "centered_similarity"), "NULL::float8")
        values["has_period"] = boolean(has("period"))
        if has("period"):
            values["period_from"] = ":period_from::timestamptz"
            values["period_to"] = ":period_to::timestamptz"
        if not has("words"):
            values |= dict.fromkeys(("w.share", "w.coverage"), "NULL::float8")
            values |= {"q.has_terms": "false", "word_share": "0"}
        if has("subjects") and counts_subjects(self.signals):
            values["named_subject"] = "m.subject"
        if not has("named"):
            values |= {"has_names": "false", "entity_overlap": "0"}
        elif not has("naming"):  # they were looked up
            values |= {"has_names": "true", "q.names_in_query": ":names::integer"}
            values["q.query_entities"] = ":query_entities::text[]"
        return values

    @property
    def inside(self) -> list[str]:
        """The conditions on columns of agent_memories."""
        columns = {one.name: one for one in self.tables.memories.alias("m").c}
        named = {
            "m.status = 'active'": not self.has("statuses"),
            self.rows.text("valid"): self.has("valid"),
            self.rows.text("existed"): self.has("as_of"),
            "m.embedding IS NOT NULL": self.has("embedding"),
        }
        return [
            *(text for text, is_asked in named.items() if is_asked),
            *(one for one in self.filters if isinstance(one, str)),
            *self._compiled(columns, computed=False),
        ]

    def outside(self, *, relevance: bool = True) -> list[str]:
        """The conditions on other columns of matched."""
        its = self.rows.c
        stored = its.trust, its.last_accessed_at, its.moment, its.trust_curve
        columns: dict[str, Any] = {
            **{one.name: one for one in self.tables.memories.alias("m").c},
            **{
                one.name: literal_column(self.rows.text(one.name), field_type(one)) for one in USAGE
            },
            SIMILARITY: literal_column(self.rows.text("cosine"), Double),
            DECAYED_TRUST: call(
                self.rows, "decayed_trust", *stored, its.trust_half_life_hours, null()
            ),
        }
        conditions = self._compiled(columns, computed=True)
        if relevance and self.has("min_relevance"):
            conditions.append(f"{self.rows.text('relevance')} >= :min_relevance::float8")
        return conditions

    def _compiled(self, columns: Mapping[str, Any], *, computed: bool) -> list[str]:
        """The conditions of the filter that read computed columns, or the others."""
        return [
            f"({compiled(condition(one, columns, self.tables.schema))})"
            for one in self.filters
            if not isinstance(one, str) and computed is not one.reads.isdisjoint(COMPUTED)
        ]

    @cached_property
    def score(self) -> str:
        """The score, with the weights as parameters."""
        weighed = [(one, literal_column(f":{one.name}_weight", Double)) for one in self.signals]
        known = all(is_known(one, self.rows) for one in self.signals)
        divides = self.has("redistribute") and not known
        return compiled(
            score_of(weighed, self.rows, redistribute=divides, decay=self.decay, once=once)
        )

    def described(self, rows: Rows) -> list[str]:
        """The columns of a hit, but its score."""
        values = [
            compiled(signal_expression(one, rows)) if has_value(one, rows) else "0"
            for one in self.signals
        ]
        if self.decay is not None:
            values.append(compiled(factor(self.decay, rows)))
        columns = [
            *(_field(name, rows) for name in ROW),
            *(f"{rows.text(name)} AS {name}" for name in ("similarity", "cosine")),
            f"ARRAY[{', '.join(values)}]::float8[] AS signals",
        ]
        if self.has("relevance"):
            columns.append(f"{rows.text('relevance')} AS relevance")
        if self.has("redistribute", "keyword", "words"):
            columns.append(f"{rows.text('has_terms')} AS has_terms")
        if self.has("naming"):
            columns.append(f"{rows.filled('q.names_in_query')} AS names")
        return columns

    @property
    def floor(self) -> str:
        """The condition on the score of `best`."""
        return " WHERE best.score >= :min_score::float8" if self.has("min_score") else ""


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
    return _run(tables, search, (), _turns, exact=exact, **hits)


def linked_to(
    tables: Tables, search: Search, hits: Mapping[str, Sequence[Any]], hops: int, most: int
) -> Run:
    """The best memories within so many links of hits, with their `hops`."""
    return _run(tables, search, (), _linked, exact=True, hops=hops, ranked=most, **hits)


def _run(
    tables: Tables,
    search: Search,
    options: Sequence[str],
    make: Any,
    *,
    may_prepare: bool = True,
    counts: bool = False,
    **values: Any,
) -> Run:
    """The statement that `make` makes of the search's shape with these options."""
    shape, parameters = shape_of(tables, search, *options)
    return Run(make(shape), parameters | values, may_prepare=may_prepare, counts=counts)


def shape_of(tables: Tables, search: Search, *options: str) -> tuple[Shape, dict[str, Any]]:
    """The shape of a search's statements, with more options, and the values of parameters."""
    profile, parameters = search.profile, search.parameters
    conditions: list[Node | str] = []
    for number, part in enumerate(search.filters.parts, start=1):
        if isinstance(part.node, Comparison | Group):
            conditions.append(part.node)
        else:
            text, bound = written(tables.memories, part.node, f"where_{number}_", "m")
            conditions.append(f"({text})")
            parameters |= bound
    parameters |= search.filters.values
    chosen, signals = search.options.union(options), tuple(profile.signals)
    return Shape(tables, chosen, signals, profile.decay, tuple(conditions)), parameters


@lru_cache(maxsize=512)
def _search(shape: Shape) -> Statement:
    """Keys and scores of the best memories first, and then their rows."""
    form, indexed = shape.form, shape.has("index")
    begun = [*_sources(shape), _best(shape)] if indexed else [_best(shape)]
    floor = "" if indexed else shape.floor
    columns = [*shape.described(shape.carried), "score", *(["passed", "total"] if indexed else [])]
    read = reads(*shape.described(shape.rows)) - reads(*_carried(shape))
    lines = [folded(f"SELECT {', '.join(columns)}", 0, 7), form.of_best(read)]
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
        every = folded(f"SELECT {columns}", 0, 7), shape.form.of_all(inside, outside, read), order
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


def statement(
    shape: Shape, name: str, begun: Sequence[str], lines: Sequence[str], *, recursive: bool = False
) -> Statement:
    """These common table expressions and lines as a statement, with what they read."""
    tables, last = _listed(begun), "\n".join(lines)
    first = []
    if "query_facts" in tables + last:
        called = folded(f"SELECT * FROM {shape.form.facts}", 4, 4)  # noqa: S608  ours
        first.append(f"query_facts AS MATERIALIZED (\n{called}\n)")
    if " terms" in tables + last:
        first.append(_TERMS)
    if " worded " in tables + last:
        first.append(_WORDED.format(words=shape.form.words))
    begin = "WITH RECURSIVE" if recursive else "WITH"
    text = f"/* pgrecall {name} */\n{begin} {_listed([*first, tables])}\n{last}"
    return Statement(shape.rows.in_schema(text))


def _listed(tables: Sequence[str]) -> str:
    return ",\n".join(tables)


def once(divisor: ColumnElement[float]) -> ColumnElement[float]:
    """A number that does not depend on the memory, computed once."""
    return literal_column(f"(SELECT {compiled(divisor)} FROM query_facts q LIMIT 1)", Double)  # noqa: S608


def _field(name: str, rows: Rows) -> str:
    """A field of a hit."""
    if name == "embedding":
        return "NULL AS embedding"
    if name in COUNTERS:
        return f"{rows.text(name)} AS {name}"
    if FIELD[name].part == "usage":  # as it is stored, also after as_of
        return rows.filled(f"u.{name}")
    return f"m.{name}" if name in ("agent_id", "id") else rows.text(name)


def table(name: str, text: str, *, materialized: bool = False) -> str:
    """A common table expression."""
    return f"{name} AS {'MATERIALIZED ' if materialized else ''}(\n{indented(text)}\n)"


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
