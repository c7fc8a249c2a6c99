"""The statements that rank memories, each made once for searches of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Double, literal_column, null

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.ranking.conditions import condition
from pgrecall.ranking.custom_condition import written
from pgrecall.ranking.filter_keys import COMPUTED, DECAYED_TRUST, SIMILARITY
from pgrecall.ranking.filters import Comparison, Group, Node
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.columns import field_type
from pgrecall.schema.fields import COUNTERS, ROW, USAGE
from pgrecall.scoring.expression import boolean, counts_subjects, shift_of
from pgrecall.scoring.score import call, factor, has_value, is_known, score_of, signal_expression
from pgrecall.scoring.signals import Decay, Signal
from pgrecall.search.matched import Form, Rows, compiled, folded, reads

COUNTED: Final = """\
counted AS MATERIALIZED (
    SELECT sum(pgrecall.touch(owner.agent_id, owner.ids, :accessed::boolean, :durable::boolean))
      FROM (SELECT agent_id, array_agg(id) AS ids FROM best{where}
             GROUP BY agent_id ORDER BY agent_id OFFSET 0) owner)"""
"""Counts one retrieval of each hit, in key order, so that concurrent touches cannot deadlock."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the text of a statement depends on."""

    tables: Tables
    options: frozenset[str]
    """Those of the search."""
    signals: tuple[Signal, ...]
    decay: Decay | None
    filters: tuple[Node | str, ...] = ()
    """The conditions of the filter; a SQLAlchemy condition as text on `agent_memories`."""

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
    profile, parts, parameters = search.profile, search.filters.parts, search.parameters
    conditions: list[Node | str] = []
    for number, part in enumerate(parts, start=1):
        if isinstance(part.node, Comparison | Group):
            conditions.append(part.node)
        else:
            text, values = written(tables.memories, part.node, f"where_{number}_", "agent_memories")
            conditions.append(f"({text})")
            parameters |= values
    parameters |= search.filters.values
    signals = tuple(profile.signals)
    shape = Shape(tables, search.options, signals, profile.decay, tuple(conditions))
    return shape, parameters


@lru_cache(maxsize=512)
def search_statement(shape: Shape, counts: bool) -> Statement:
    """The k best memories: their keys and scores, and then their rows."""
    form = form_of(shape)
    begun, columns = [best_of_all(shape, form)], described(shape, rows_of(shape, carried=True))
    read = reads(described(shape, rows_of(shape)))
    lines = [folded(f"SELECT {columns}", 0, 7), form.of_best("best", read)]
    if counts:
        begun.append(COUNTED.format(where=floor(shape)))
        lines.append("  CROSS JOIN counted")
    lines += [*filter(None, [floor(shape)]), " ORDER BY score DESC, m.id"]
    return statement(shape, form, "search", begun, lines)


def statement(
    shape: Shape, form: Form, name: str, begun: Sequence[str], lines: Sequence[str]
) -> Statement:
    """These common table expressions and lines as a statement, with query_facts if they read it."""
    tables, last = ",\n".join(begun), "\n".join(lines)
    if "query_facts" in tables + last:
        facts = folded(f"SELECT * FROM {form.facts}", 4, 4)  # noqa: S608  ours
        tables = f"query_facts AS MATERIALIZED (\n{facts}\n),\n{tables}"
    text = f"/* pgrecall {name} */\nWITH {tables}\n{last}"
    return Statement(rows_of(shape).in_schema(text))


def best_of_all(shape: Shape, form: Form) -> str:
    """The common table expression `best`: the keys and scores of the best of all memories."""
    rows, outside = rows_of(shape), outside_of(shape)
    listed = ["m.agent_id", "m.id", f"{score_in(shape, rows)} AS score", *carried_columns(shape)]
    select = ", ".join(listed)
    source = form.of_all(inside_of(shape), outside, reads(select, *outside))
    ordered = f" ORDER BY score DESC, m.id LIMIT {form.limit}"
    return table("best", "\n".join((folded(f"SELECT {select}", 0, 7), source, ordered)))


def score_in(shape: Shape, rows: Rows) -> str:
    """The score by these columns, with the weights as parameters."""
    weighed = [(one, literal_column(f":{one.name}_weight", Double)) for one in shape.signals]
    divides = shape.has("redistribute") and not all(is_known(one, rows) for one in shape.signals)
    return compiled(score_of(weighed, rows, redistribute=divides, decay=shape.decay, once=once))


def floor(shape: Shape) -> str:
    return " WHERE best.score >= :min_score::float8" if shape.has("min_score") else ""


def table(name: str, text: str, *, materialized: bool = False) -> str:
    """A common table expression."""
    lines = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"{name} AS {'MATERIALIZED ' if materialized else ''}(\n{lines}\n)"


def once(divisor: ColumnElement[float]) -> ColumnElement[float]:
    """A number that does not depend on the memory, computed once."""
    return literal_column(f"(SELECT {compiled(divisor)} FROM query_facts q LIMIT 1)", Double)  # noqa: S608  ours


def form_of(shape: Shape) -> Form:
    """How the statements of this shape are planned."""
    agents = ":agents::text[]"
    as_of = ":as_of::timestamptz" if shape.has("as_of") else "NULL"
    shift = max(map(shift_of, shape.signals), default=0.0)
    facts = [
        agents,
        ":query" if shape.has("query") else "NULL",
        ":keywords::text" if shape.has("words") else "NULL",
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
        words=f"pgrecall.keyword_shares({agents}, :keywords::text,"
        f" :worded_owners::text[], {as_of})",
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
    return Rows(shape.tables.schema, values, rows)


def carried_columns(shape: Shape) -> list[str]:
    """What the second phase needs of usage and words: looked up again, a plan from before there was
    any usage would scan all of it for each hit."""
    usage = [f"u.{one.name}" for one in USAGE]
    return [*usage, "w.share", "w.coverage"] if shape.has("words") else usage


def inside_of(shape: Shape) -> list[str]:
    """The conditions on columns of agent_memories."""
    own = Rows(shape.tables.schema, rows_of(shape).values, {"m": ""})
    conditions = []
    if not shape.has("statuses"):
        conditions.append("status = 'active'")
    if shape.has("valid"):
        conditions.append(own.text("valid"))
    if shape.has("as_of"):
        conditions.append(own.text("existed"))
    if shape.has("embedding"):
        conditions.append("embedding IS NOT NULL")
    memories = shape.tables.memories
    columns = {one.name: one for one in memories.alias(memories.name).c}
    for one in shape.filters:
        if isinstance(one, str):
            conditions.append(one)
        elif one.reads.isdisjoint(COMPUTED):
            conditions.append(f"({compiled(condition(one, columns, shape.tables.schema))})")
    return conditions


def outside_of(shape: Shape) -> list[str]:
    """The conditions on other columns of matched."""
    rows = rows_of(shape)
    conditions = []
    if shape.has("min_relevance"):
        conditions.append(f"{rows.text('relevance')} >= :min_relevance::float8")
    columns: dict[str, Any] = {one.name: one for one in shape.tables.memories.alias("m").c}
    its = rows.c
    stored = its.trust, its.last_accessed_at, its.moment, its.trust_curve
    decayed = call(rows, "decayed_trust", *stored, its.trust_half_life_hours, null())
    columns |= {one.name: literal_column(rows.text(one.name), field_type(one)) for one in USAGE}
    columns |= {SIMILARITY: literal_column(rows.text("cosine"), Double), DECAYED_TRUST: decayed}
    for one in shape.filters:
        if not isinstance(one, str) and not one.reads.isdisjoint(COMPUTED):
            conditions.append(f"({compiled(condition(one, columns, shape.tables.schema))})")
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
