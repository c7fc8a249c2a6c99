"""The statements that rank memories, each made once for searches of one shape."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Double, literal_column

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.ranking.custom_condition import written
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.composer import filter_conditions
from pgrecall.schema.fields import COUNTERS, ROW
from pgrecall.scoring.expression import boolean, counts_subjects, shift_of
from pgrecall.scoring.score import factor, has_value, is_known, score_of, signal_expression
from pgrecall.scoring.signals import Decay, Signal
from pgrecall.search.matched import USAGE, Form, Rows, compiled, folded, reads

_COUNTED: Final = """,
counted AS MATERIALIZED (
    SELECT sum(pgrecall.touch(owner.agent_id, owner.ids, :accessed::boolean, :durable::boolean))
      FROM (SELECT agent_id, array_agg(id) AS ids FROM best{floor}
             GROUP BY agent_id ORDER BY agent_id OFFSET 0) owner)"""
"""Counts one retrieval of each hit, in key order, so that concurrent touches cannot deadlock."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the text of a statement depends on."""

    schema: str
    options: frozenset[str]
    """Those of the search."""
    signals: tuple[Signal, ...]
    decay: Decay | None
    where: tuple[str, ...] = ()
    """The caller's own conditions."""

    def has(self, option: str) -> bool:
        return option in self.options


def searches(tables: Tables, search: Search, *, counts: bool = False, **values: Any) -> Run:
    """The statement of a search that scores every memory, which may count its hits."""
    shape, parameters = shape_of(tables, search)
    statement = search_statement(shape, counts)
    may_prepare = search.may_prepare
    return Run(statement, parameters | values, may_prepare=may_prepare, counts=counts)


def shape_of(tables: Tables, search: Search) -> tuple[Shape, dict[str, Any]]:
    """The shape of a search's statements, and the values of their parameters."""
    profile, where, parameters = search.profile, (), search.parameters
    if search.filters.where:
        conditions = written(tables.memories, search.filters.where)
        where = tuple(one.text for one in conditions)
        for one in conditions:
            parameters |= one.values
    shape = Shape(tables.schema, search.options, tuple(profile.signals), profile.decay, where)
    return shape, parameters


@lru_cache(maxsize=512)
def search_statement(shape: Shape, counts: bool) -> Statement:
    """The k best memories: their keys and scores, and then their rows."""
    form, every = form_of(shape), rows_of(shape)
    dynamic = shape.has("redistribute") and not all(is_known(one, every) for one in shape.signals)
    score = compiled(
        score_of(
            [(one, literal_column(f":{one.name}_weight")) for one in shape.signals],
            every,
            redistribute=dynamic,
            decay=shape.decay,
            once=once,
        )
    )
    carried = carried_columns(shape)
    outside = outside_of(shape)
    listed = f"m.agent_id, m.id, {score} AS score{''.join(f', {one}' for one in carried)}"
    source = form.of_all(inside_of(shape), outside, reads(listed, *outside))
    limit = ":ranked::integer"
    select = folded(f"SELECT {listed}", 0, 7)
    best = f"{select}\n{source}\n ORDER BY score DESC, m.id LIMIT {form.limit}"
    found = rows_of(shape, carried=True)
    columns = described(shape, found)
    floor = " WHERE best.score >= :min_score::float8" if shape.has("min_score") else ""
    tables = [f"best AS (\n{indented(best)}\n)"]
    if "query_facts" in best + columns:
        facts = folded(f"SELECT * FROM {form.facts})", 4, 4)
        tables.insert(0, f"query_facts AS MATERIALIZED (\n{facts}")
    text = (
        f"/* pgrecall search */\nWITH {', '.join(tables)}{_COUNTED.format(floor=floor) if counts else ''}\n"
        f"{folded('SELECT ' + columns, 0, 7)}\n{form.of_best('best', reads(described(shape, every)))}"
        f"{' CROSS JOIN counted' if counts else ''}\n"
        f"{floor}{chr(10) if floor else ''} ORDER BY score DESC, m.id"
    )
    return Statement(every.in_schema(text))


def once(divisor: ColumnElement[float]) -> ColumnElement[float]:
    """A number that does not depend on the memory, computed once."""
    return literal_column(f"(SELECT {compiled(divisor)} FROM query_facts q LIMIT 1)", Double)


def form_of(shape: Shape) -> Form:
    """How the statements of this shape are planned."""
    agents = ":agents::text[]"
    as_of = ":as_of::timestamptz" if shape.has("as_of") else "NULL"
    shift = max(map(shift_of, shape.signals), default=0.0)
    facts = [
        agents,
        ":query" if shape.has("query") else "NULL",
        ":query_text::text" if shape.has("words") else "NULL",
        ":naming_text::text" if shape.has("naming") and not shape.has("given_names") else "NULL",
        ":query_entities::text[]" if shape.has("given_names") else "NULL",
        "NULL",
        repr(float(shift)),
        boolean(counts_subjects(shape.signals)),
        as_of,
    ]
    return Form(
        several=shape.has("teams"),
        large=shape.has("large"),
        routed=shape.has("distributed"),
        words=f"pgrecall.keyword_shares({agents}, :query_text::text, :worded_owners::text[], {as_of})",
        facts=f"pgrecall.query_facts({', '.join(facts)})",
    )


def rows_of(shape: Shape, carried: bool = False) -> Rows:
    """The columns of matched for a search of this shape. `carried`: usage and words come from
    `best`, so that every column has but one meaning."""
    has, values = shape.has, {}
    if has("query"):
        values["query"] = ":query"
    else:
        values |= {"similarity": "NULL", "centered_similarity": "NULL"}
    values["has_query"] = boolean(has("query"))
    if has("as_of"):
        values["as_of"] = ":as_of::timestamptz"
    values["moment"] = values.get("as_of", "now()")
    if has("period"):
        values["period_from"] = ":period_from::timestamptz"
        values["period_to"] = ":period_to::timestamptz"
    values["has_period"] = boolean(has("period"))
    if not has("words"):
        values |= dict.fromkeys(("w.share", "w.coverage"), "NULL::float8")
        values |= {"q.has_terms": "false", "word_share": "0"}
    if has("subjects") and counts_subjects(shape.signals):
        values["named_subject"] = "m.subject"
    if not has("named"):
        values |= {"has_names": "false", "entity_overlap": "0"}
    elif not has("naming"):
        values |= {
            "q.query_entities": ":query_entities::text[]",
            "q.names_in_query": ":names::integer",
        }
        values["has_names"] = "true"
    rows = dict.fromkeys("muwq", "") if carried else {}
    return Rows(shape.schema, values, rows)


def carried_columns(shape: Shape) -> list[str]:
    """What the second phase needs of usage and words: looked up again, a plan from before there was
    any usage would scan all of it for each hit."""
    usage = [f"u.{name}" for name in USAGE]
    return [*usage, "w.share", "w.coverage"] if shape.has("words") else usage


def inside_of(shape: Shape) -> list[str]:
    """The conditions on columns of agent_memories."""
    has = shape.has
    rows = Rows(shape.schema, rows_of(shape).values, {"m": ""})
    conditions = []
    if has("statuses"):
        conditions.append("status = ANY (:statuses::text[])")
    else:
        conditions.append("status = 'active'")
    conditions += [rows.text(one) for one in ("valid",) if has("valid")]
    conditions += [rows.text("existed")] if has("as_of") else []
    if has("embedding"):
        conditions.append("embedding IS NOT NULL")
    conditions += filter_conditions(shape.options)
    return [*conditions, *(f"({one})" for one in shape.where)]


def outside_of(shape: Shape) -> list[str]:
    """The conditions on other columns of matched."""
    rows, conditions = rows_of(shape), []
    if shape.has("min_trust"):
        decayed = (
            "pgrecall.decayed_trust(m.trust, {}, {}, m.trust_curve, m.trust_half_life_hours, -1)"
        )
        text = decayed.format(rows.text("last_accessed_at"), rows.text("moment"))
        conditions.append(f"{text} >= :min_trust::float8")
    if shape.has("min_relevance"):
        conditions.append(f"{rows.text('relevance')} >= :min_relevance::float8")
    return conditions


def described(shape: Shape, rows: Rows) -> str:
    """The columns of a hit."""
    columns = [*map(memory_column, ROW), "best.score"]
    if shape.has("query"):
        columns.append(f"{rows.text('similarity')} AS similarity")
        columns.append(f"{rows.text('cosine')} AS cosine")
    else:
        columns.append("NULL::float8 AS similarity, NULL::float8 AS cosine")
    values = [
        compiled(signal_expression(one, rows)) if has_value(one, rows) else "0"
        for one in shape.signals
    ]
    if shape.decay is not None:
        values.append(compiled(factor(shape.decay, rows)))
    columns.append(f"ARRAY[{', '.join(values)}]::float8[] AS signals")
    if shape.has("relevance"):
        columns.append(f"{rows.text('relevance')} AS relevance")
    if shape.has("redistribute") and shape.has("keyword") and shape.has("words"):
        columns.append(f"{rows.text('has_terms')} AS has_terms")
    if shape.has("naming"):
        columns.append(f"{rows.filled('q.names_in_query')} AS names")
    return ", ".join(columns)


def memory_column(name: str) -> str:
    """A field of a hit."""
    if name == "embedding":
        return "NULL AS embedding"
    if name in COUNTERS:
        return f"coalesce({name}, 0) AS {name}"
    return f"m.{name}" if name in ("agent_id", "id") else name


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
