"""The relation `matched` in statements of Python's: sql/matched.sql, of which a statement holds the
columns and joins that it reads, with the relations in the form that PostgreSQL plans best.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, false, literal_column, true

from pgrecall.core.resources import sql_folder
from pgrecall.core.statement import NAMED

_PLACE = re.compile(r"(?<!:):(\w+)")
_COLUMN = re.compile(r"\b([muwq])\.(\w+)")
_WORD = re.compile(r"(?:'(?:[^']|'')*'|\"[^\"]*\"|[^\s'\"])+")
_WORDED: Final = """unnest((SELECT worded.memories FROM worded),
       (SELECT worded.shares FROM worded), (SELECT worded.coverages FROM worded),
       (SELECT worded.owners FROM worded)) w(memory_id, share, coverage, agent_id)"""
_COMPARED: Final = """\
  CROSS JOIN LATERAL (
      SELECT least(coalesce(sum(terms.weight) FILTER (WHERE terms.term = ANY (its.terms))
                            / sum(terms.weight), 0::float8), 1::float8) AS share,
             sum(terms.weight) / sum(terms.idf) AS coverage
        FROM (SELECT tsvector_to_array(m.terms) AS terms OFFSET 0) its CROSS JOIN terms
       WHERE terms.agent_id = m.agent_id) w"""
"""The share of the query's terms that each memory has, which are unpacked once a memory."""
_CONSTANTS = {"true": true, "false": false}


class Relation(NamedTuple):
    """What sql/matched.sql says."""

    columns: Mapping[str, str]
    """The SQL of each computed column, over the rows m, u (usage), w (words) and q (query)."""
    joins: Mapping[str, str]
    """For each of u, w and q: the condition on which it is joined with m."""


@cache
def relation() -> Relation:
    """The columns and joins of sql/matched.sql."""
    text = (sql_folder() / "matched.sql").read_text(encoding="utf-8")
    columns, _, joins = re.sub(r" *--.*\n", "", text).partition("\n  FROM ")
    named = (one.rpartition(" AS ") for one in _items(columns))
    return Relation(
        {name: expression for expression, _, name in named if expression},
        dict(re.findall(r"JOIN :\w+ (\w) ON (.*)", joins)),
    )


def _items(listed: str) -> list[str]:
    """The items of a list, each in one line, divided by commas outside of brackets."""
    items, depth = [""], 0
    for character in listed:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            items.append("")
        else:
            items[-1] += character
    return [re.sub(r"\s+", " ", one).strip() for one in items]


@dataclass(frozen=True, slots=True)
class Rows:
    """The columns of matched in a statement, as `Matched` of scoring/score.py has them.

    Each is the expression of sql/matched.sql, so that a statement has no subquery for them.
    """

    schema: str
    values: Mapping[str, str]
    """SQL in place of a :name or of a column such as `w.share`; NULL for a :name without."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """Other names of the rows m, u, w and q; an empty one if columns need none."""

    @property
    def c(self) -> Columns:
        return Columns(self)

    def text(self, name: str) -> str:
        """The SQL of a column."""
        known = self.values.get(name)
        if known is None:
            return self.filled(relation().columns.get(name, f"m.{name}"))
        return self._renamed(known)

    def filled(self, text: str) -> str:
        """The SQL of an expression over the rows m, u, w and q."""
        places = _PLACE.sub(lambda match: self.values.get(match[1], "NULL"), text)
        return self.in_schema(self._renamed(places))

    def _renamed(self, text: str) -> str:
        def one(match: re.Match[str]) -> str:
            row, column = self.rows.get(match[1], match[1]), match[2]
            return self.values.get(match[0]) or (f"{row}.{column}" if row else column)

        return _COLUMN.sub(one, text)

    def in_schema(self, text: str) -> str:
        """The text, in which pgrecall. means our schema."""
        return text.replace("pgrecall.", f"{NAMED.identifier_preparer.quote_schema(self.schema)}.")


class Columns:
    """The columns of rows, as SQLAlchemy expressions."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> ColumnElement[Any]:
        text = self._rows.text(name)
        constant = _CONSTANTS.get(text)
        return literal_column(text) if constant is None else constant()

    def __getattr__(self, name: str) -> ColumnElement[Any]:
        return self[name]


def compiled(element: ColumnElement[Any]) -> str:
    """The text of an expression, with named parameters."""
    return str(element.compile(dialect=NAMED))


def reads(*texts: str) -> set[str]:
    """Those of the rows u, w and q whose columns occur."""
    return {name for text in texts for name in re.findall(r"\b([uwq])\.", text)}


def folded(text: str, indent: int, hang: int = 0, *, width: int = 96) -> str:
    """The text in lines of at most so many columns, the first of which begins at `indent`: 100
    within a common table expression. It is broken at spaces outside of quotes."""
    lines = [" " * indent]
    for word in _WORD.findall(text):
        if len(lines[-1]) + len(word) >= width and lines[-1].strip():
            lines.append(" " * (indent + hang))
        lines[-1] += word if not lines[-1].strip() else f" {word}"
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Form:
    """How PostgreSQL is to plan a statement about the memories of one agent or several."""

    several: bool = False
    """True: about several agents."""
    large: bool = False
    """True: they have so many memories that each statement is planned by its values."""
    routed: bool = False
    """True: Citus finds the node of the agent, by a comparison with each table."""
    words: str = ""
    """The call of keyword_shares."""
    facts: str = ""
    """The call of query_facts."""
    live: tuple[str, ...] = ()
    """The conditions on columns of agent_memories that nearly all memories meet."""

    @property
    def is_visible(self) -> bool:
        """True: the planner sees whose memories are read, and how many."""
        return self.large or self.routed

    @property
    def joins_left(self) -> bool:
        """Left joins can run in parallel."""
        return self.large and not self.routed

    @property
    def limit(self) -> str:
        """The number of memories to find."""
        return ":ranked::integer" if self.is_visible else hidden(":ranked::integer")

    @property
    def shares(self) -> str:
        """The rows w, of all memories that have a term of the query."""
        return _WORDED if self.joins_left else f"{self.words} w"

    def agents(self, column: str) -> str:
        """The condition that a row is of these agents."""
        agents = ":whole_owners::text[]" if self.several else ":agent_id::text"
        if not self.is_visible:
            agents = hidden(agents) + "::text[]" * self.several
        # For = ANY of an unknown array the planner expects ten agents, and scans a young table.
        return f"{column} = ANY ({agents})" if self.several else f"{column} = {agents}"

    def of_all(self, inside: Sequence[str], outside: Sequence[str], read: Set[str]) -> str:
        """FROM and WHERE of a statement about all memories that meet conditions: those `inside` are
        on columns of agent_memories alone. `read`: which of u, w and q it reads."""
        in_full = bool(read & {"u", "w"}) and not self.joins_left
        if in_full:  # by an estimate below that of usage, memories and their vectors were hashed
            inside = [one for one in inside if one not in self.live]
            outside = [*self.live, *outside]
        found = " AND ".join((self.agents("m.agent_id"), *inside))
        memories = f"(SELECT * FROM pgrecall.agent_memories m WHERE {found}) m"  # noqa: S608  ours
        lines = [folded(f"FROM {memories}", 2, 8)]
        if "u" in read:
            usage = "pgrecall.memory_usage"
            if not self.joins_left:
                usage = f"(SELECT * FROM {usage} WHERE {self.agents('agent_id')})"  # noqa: S608
            lines.append(self._join("u", f"{usage} u"))
        if "w" in read:
            lines.append(self._join("w", self.shares))
        lines += self._query_facts(read)
        if in_full:
            outside = [joined_in_full(outside)]
        return "\n".join([*lines, *_where(outside)])

    def of_best(self, read: Set[str]) -> str:
        """FROM of a statement about the rows of `best`, each looked up by its key."""
        found = self._looked_up("m", "agent_memories", "id", (), "best")
        lines = [folded(f"FROM best {found}", 2, 6)]
        if "u" in read:
            used = self._looked_up("u", "memory_usage", "memory_id", (), "best")
            lines.append(folded(used, 2, 6))
        return "\n".join([*lines, *self._query_facts(read)])

    def of_keys(
        self, keys: str, inside: Sequence[str], outside: Sequence[str], read: Set[str]
    ) -> str:
        """FROM and WHERE of a statement about the memories with the keys of this relation, each
        looked up with its usage, and compared with the terms of the query."""
        found = self._looked_up("m", "agent_memories", "id", inside)
        lines = [folded(f"FROM {keys} k {found}", 2, 6)]
        if "u" in read:
            lines.append(folded(self._looked_up("u", "memory_usage", "memory_id", ()), 2, 6))
        if "w" in read:
            lines.append(_COMPARED)
        return "\n".join([*lines, *self._query_facts(read), *_where(outside)])

    def _looked_up(
        self, row: str, table: str, key: str, conditions: Sequence[str], keys: str = "k"
    ) -> str:
        """A lookup by the key. OFFSET 0 forces it: a plan from a time when the agent had few
        memories could scan all of them for each row."""
        own = [f"{row}.agent_id = :agent_id::text"] if self.routed else []
        its = " AND ".join(
            (*own, f"{row}.agent_id = {keys}.agent_id", f"{row}.{key} = {keys}.id", *conditions)
        )
        found = f"(SELECT * FROM pgrecall.{table} {row} WHERE {its} OFFSET 0) {row}"  # noqa: S608
        join = "CROSS JOIN LATERAL {}" if row == "m" else "LEFT JOIN LATERAL {} ON true"
        return join.format(found)

    def _join(self, row: str, joined: str) -> str:
        condition = relation().joins[row]
        if not self.several and not self.joins_left:  # all rows are of the same agent
            condition = condition.partition(" AND ")[2]
        kind = "LEFT" if self.joins_left else "FULL"
        return folded(f"{kind} JOIN {joined} ON {condition}", 2, 4)

    def _query_facts(self, read: Set[str]) -> list[str]:
        """The row of query_facts for each memory. A large agent's parallel workers cannot read a
        common table expression: each calls the function."""
        if "q" not in read:
            return []
        called = f"{self.facts} q" if self.joins_left else "query_facts q"
        if self.several:  # an inner join would make left joins of full ones
            return [folded(f"LEFT JOIN {called} ON {relation().joins['q']}", 2, 4)]
        return [folded(f"CROSS JOIN {called}", 2, 4)]


def hidden(value: str) -> str:
    """The value as the planner does not see it: it expects the same of each agent, so PostgreSQL
    caches one plan for all. Planning takes longer than a search of 100 memories."""
    return f"(SELECT {value})"


def joined_in_full(conditions: Sequence[str]) -> str:
    """Conditions on rows that are joined in full, which PostgreSQL hashes or merges: a left join
    may be planned as a loop over all pairs while tables are young, for the life of a connection.
    It would make a left join of a full one if it knew that the conditions are false of NULL."""
    return f"CASE WHEN m.id IS NULL THEN false ELSE {' AND '.join(conditions) or 'true'} END"


def _where(conditions: Sequence[str]) -> list[str]:
    return [folded(f"WHERE {' AND '.join(conditions)}", 1, 2)] if conditions else []
