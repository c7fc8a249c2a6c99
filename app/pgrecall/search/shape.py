"""What the text of a statement that ranks depends on, and how it is put together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from sqlalchemy import ColumnElement, Double, literal_column, null

from pgrecall.core.statement import Statement
from pgrecall.ranking.conditions import condition, conditions_of
from pgrecall.ranking.filter_keys import COMPUTED, DECAYED_TRUST, SIMILARITY
from pgrecall.ranking.filters import Node
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.columns import field_type
from pgrecall.schema.fields import COUNTERS, FIELD, ROW, USAGE
from pgrecall.scoring.score import (
    call,
    counts_subjects,
    factor,
    has_value,
    is_known,
    score_of,
    shift_of,
    signal_expression,
)
from pgrecall.scoring.signals import Decay, Signal
from pgrecall.search.matched import Form, Rows, compiled, folded

_OWN: Final = re.compile("\0(\\d+)\0")
"""No text of SQL has a NUL."""
_WORDED: Final = """\
worded AS MATERIALIZED (
    SELECT pg_catalog.array_agg(memory_id) AS memories, pg_catalog.array_agg(share) AS shares,
           pg_catalog.array_agg(coverage) AS coverages, pg_catalog.array_agg(agent_id) AS owners
      FROM {words})"""
"""The words' shares as arrays, which a parallel plan hands to its processes: each of them would
compute the shares again."""
_TERMS: Final = """\
terms AS MATERIALIZED (
    SELECT owner.agent_id, found.term, found.memories, found.weight, found.idf
      FROM pg_catalog.unnest(:agents::text[]) owner(agent_id)
     CROSS JOIN LATERAL pgrecall.term_weights(owner.agent_id, :keywords::text, :exact::boolean,
                            :worded_owners::text[], :as_of::timestamptz) found)"""
"""exact: counted now, and not when the rank index was built."""


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
            live=tuple(self.named.values()),
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
            repr(float(shift_of(self.signals))),
            _boolean(counts_subjects(self.signals)),
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
        values["has_query"] = _boolean(has("query"))
        if has("query"):
            values["query"] = ":query"
        else:
            values |= dict.fromkeys(("cosine", "similarity", "centered_similarity"), "NULL::float8")
        values["has_period"] = _boolean(has("period"))
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
    def agents(self) -> str:
        """The condition on the agents, which the planner sees. Of an equality it would make a
        constant that keeps it from leaving out joins that nothing reads; Citus needs one."""
        routed = self.form.routed and not self.form.several
        return "m.agent_id = " + (":agent_id::text" if routed else "ANY (:agents::text[])")

    def written(self, text: str) -> str:
        """The text in this schema, with the caller's own conditions."""
        return _OWN.sub(lambda own: str(self.filters[int(own[1])]), self.rows.in_schema(text))

    @property
    def inside(self) -> list[str]:
        """The conditions on columns of agent_memories."""
        parts = [one for one in self.filters if not _is_computed(one)]
        return [*self.named.values(), *map(self.met, parts)]

    def outside(self, *, relevance: bool = True) -> list[str]:
        """The conditions on other columns of matched."""
        conditions = [*map(self.met, filter(_is_computed, self.filters))]
        return [*conditions, *self.relevant.values()] if relevance else conditions

    @property
    def named(self) -> dict[str, str]:
        """The conditions on columns of agent_memories that are no part of the filter."""
        named = {
            "valid": (self.has("valid"), self.rows.text("valid")),
            "as_of": (self.has("as_of"), self.rows.text("existed")),
            "statuses": (not self.has("statuses"), "m.status = 'active'"),
            "embedding": (self.has("embedding"), "m.embedding IS NOT NULL"),
        }
        return {name: text for name, (is_asked, text) in named.items() if is_asked}

    @property
    def relevant(self) -> dict[str, str]:
        """The condition on relevance, by its name."""
        if not self.has("min_relevance"):
            return {}
        return {"min_relevance": f"{self.rows.text('relevance')} >= :min_relevance::float8"}

    def met(self, part: Node | str) -> str:
        """The condition of a part of the filter."""
        if isinstance(part, str):
            return _own(self.filters.index(part))
        return f"({compiled(condition(part, self._columns, self.tables.schema))})"

    @cached_property
    def _columns(self) -> Mapping[str, Any]:
        """What a filter may read."""
        its = self.rows.c
        stored = its.trust, its.last_accessed_at, its.moment, its.trust_curve
        half_life = its.trust_half_life_hours
        return {
            **{one.name: one for one in self.tables.memories.alias("m").c},
            **{
                one.name: literal_column(self.rows.text(one.name), field_type(one)) for one in USAGE
            },
            SIMILARITY: literal_column(self.rows.text("cosine"), Double),
            DECAYED_TRUST: call(self.rows, "decayed_trust", *stored, half_life, null()),
        }

    @cached_property
    def score(self) -> str:
        """The score, with the weights as parameters."""
        return self.score_over(self.rows)

    def score_over(self, rows: Rows, place: str = "") -> str:
        """The score over these columns, with the weights as parameters <signal>_weight<place>."""
        weighed = [
            (one, literal_column(f":{one.name}_weight{place}", Double)) for one in self.signals
        ]
        known = all(is_known(one, rows) for one in self.signals)
        divides = self.has("redistribute") and not known
        return compiled(score_of(weighed, rows, redistribute=divides, decay=self.decay, once=_once))

    def described(self, rows: Rows) -> list[str]:
        """The columns of a hit, but its score."""
        values = [
            compiled(signal_expression(one, rows)) if has_value(one, rows) else "0::float8"
            for one in self.signals
        ]
        if self.decay is not None:
            values.append(compiled(factor(self.decay, rows)))
        columns = [
            *(_field(name, rows) for name in ROW),
            f"{rows.text('cosine')} AS cosine",
            f"ARRAY[{', '.join(values)}] AS signals",
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


def shape_of(tables: Tables, search: Search, *options: str) -> tuple[Shape, dict[str, Any]]:
    """The shape of a search's statements, with more options, and the values of parameters."""
    profile, (conditions, values) = search.profile, conditions_of(tables, search.filters)
    chosen, signals = search.options.union(options), tuple(profile.signals)
    return Shape(tables, chosen, signals, profile.decay, conditions), search.parameters | values


def statement(
    shape: Shape, name: str, begun: Sequence[str], lines: Sequence[str], *, recursive: bool = False
) -> Statement:
    """These common table expressions and lines as a statement, with what they read."""
    tables, last = _listed(begun), "\n".join(lines)
    first = []
    if "query_facts" in tables + last:
        called = folded(f"SELECT * FROM {shape.form.facts}", 4, 4)  # noqa: S608  ours
        first.append(f"query_facts AS MATERIALIZED (\n{called})")
    if " terms" in tables + last:
        first.append(_TERMS)
    if "worded." in tables + last:
        first.append(_WORDED.format(words=shape.form.words))
    begin = "WITH RECURSIVE" if recursive else "WITH"
    text = f"/* pgrecall {name} */ {begin} {_listed([*first, tables])}\n{last}"
    return Statement(shape.written(text))


def _listed(tables: Sequence[str]) -> str:
    return ",\n".join(tables)


def _once(divisor: ColumnElement[float]) -> ColumnElement[float]:
    """A number that does not depend on the memory, computed once."""
    return literal_column(f"(SELECT {compiled(divisor)} FROM query_facts q LIMIT 1)", Double)  # noqa: S608


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _is_computed(part: Node | str) -> bool:
    """True if it reads other columns than those of agent_memories."""
    return not isinstance(part, str) and not part.reads.isdisjoint(COMPUTED)


def _field(name: str, rows: Rows) -> str:
    """A field of a hit."""
    if name == "embedding":
        return "NULL AS embedding"
    if name in COUNTERS:
        return f"{rows.text(name)} AS {name}"
    if FIELD[name].part == "usage":  # as it is stored, also after as_of
        return rows.filled(f"u.{name}")
    return f"m.{name}" if name in ("agent_id", "id") else rows.text(name)


def _own(place: int) -> str:
    """Stands for a condition of the caller, in which pgrecall. does not mean our schema."""
    return f"\0{place}\0"


def table(name: str, text: str, *, materialized: bool = False) -> str:
    """A common table expression."""
    return f"{name} AS {'MATERIALIZED ' if materialized else ''}(\n{indented(text)})"


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
