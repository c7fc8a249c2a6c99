"""Statements that score every memory that passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    and_,
    bindparam,
    case,
    false,
    literal_column,
    or_,
    select,
    true,
)

from pgrecall.ranking.conditions import (
    Condition,
    conditions,
    custom_conditions,
    of_one,
    of_owners,
    scope,
)
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.search_parameters import Shape
from pgrecall.ranking.words import has_terms, same_memory, share, shares, with_shares
from pgrecall.schema import Tables
from pgrecall.scoring import compiler
from pgrecall.scoring.compiler import Scope
from pgrecall.scoring.signals import Keyword, requires_embedding

KEYWORD, COVERAGE = "keyword", "coverage"


def passing(within: Scope, shape: Shape, where: Sequence[Expression]) -> dict[str, Condition]:
    """Every condition that a memory must meet to be ranked, by name, except for its owner."""
    found = conditions(within, shape.filters, as_of=shape.has_as_of, owners=shape.owners)
    if shape.has_query and requires_embedding(shape.signals):
        found["embedding"] = within.memories.c.embedding.is_not(None)
    if shape.has_min_similarity:
        floor: Any = bindparam("min_similarity", type_=Double())
        found["min_similarity"] = compiler.cosine(within) >= floor
    if shape.has_min_relevance:
        least: Any = bindparam("min_relevance", type_=Double())
        found["min_relevance"] = compiler.relevance(within) >= least
    return found | custom_conditions(where)


def rows_to_rank(
    tables: Tables,
    owners: str,
    shape: Shape,
    conditions: Mapping[str, Condition],
    words: FromClause | None,
) -> tuple[FromClause, Condition]:
    """Joins the owners' memories that meet the conditions to their usage and keyword shares.

    Returns the join, and the condition that the statement must still apply. The joins are full
    because PostgreSQL cannot execute a full join as a nested loop over all pairs of rows. It might
    choose that for a left join while the tables are nearly empty, and cache the plan. A CASE
    removes rows without a memory: a condition that the planner understands would turn the full join
    into a left one. The plan for a large owner is not cached, so its joins are left joins, which
    can run in parallel.
    """
    memories, usage = tables.memories, tables.memory_usage
    mine = of_owners(memories, owners)
    conditions = _expected(conditions)
    if shape.is_large:
        rows = _joined(tables, owners, shape, memories, words)
        return rows, and_(mine, *conditions.values())
    if words is None and not shape.reads_usage:
        return memories, and_(mine, *conditions.values())
    later = {name: conditions[name] for name in _OF_JOINED if name in conditions}
    now = [condition for name, condition in conditions.items() if name not in later]
    rows = memories.join(_one("one_memory"), and_(mine, *now))
    if shape.reads_usage:
        theirs = usage.join(_one("one_usage"), of_owners(usage, owners))
        same = and_(usage.c.agent_id == memories.c.agent_id, usage.c.memory_id == memories.c.id)
        if of_one(owners):
            same = usage.c.memory_id == memories.c.id
        rows = rows.outerjoin(theirs, same, full=True)
    if words is not None:
        found = words.join(_one("one_share"), _believed_rare(words.c.id))
        rows = rows.outerjoin(found, same_memory(words, memories), full=True)
    return rows, case((memories.c.id.is_(None), false()), else_=and_(true(), *later.values()))


def _believed_rare(column: ColumnElement[Any]) -> Condition:
    """True of every row, though the planner expects it of one in 200: so it hashes these rows, and
    not the memories with their embeddings, even if it knows nothing of the tables."""
    known = case((column.is_(None), literal_column("0")), else_=literal_column("1"))
    condition: Condition = known == literal_column("1")
    return condition


def _expected(conditions: Mapping[str, Condition]) -> dict[str, Condition]:
    """The conditions with those that nearly every memory meets in one that the planner believes to
    be true, as it does of IS NOT NULL.

    Without statistics it would expect a single memory. Nor does it see a status by which it could
    choose the index of active memories, which leads to them in an order by chance.
    """
    nearly_all = [conditions[name] for name in _NEARLY_ALL if name in conditions]
    others = {name: one for name, one in conditions.items() if name not in _NEARLY_ALL}
    met = case((and_(true(), *nearly_all), literal_column("1")))
    return {"nearly all": met.is_not(None), **others}


_NEARLY_ALL = ("valid", "statuses", "as_of", "embedding")
_OF_JOINED = ("min_relevance", "min_trust")
"""Conditions that read usage or keyword shares."""


def _one(name: str) -> FromClause:
    """A single row. Joining a table to it gives a place for a condition on that table alone."""
    return select(literal_column("1")).subquery(name)


def _joined(
    tables: Tables, owners: str, shape: Shape, rows: FromClause, words: FromClause | None
) -> FromClause:
    """Left joins rows of memories to their usage and keyword shares, if the shape reads them."""
    memories, usage = tables.memories, tables.memory_usage
    if shape.reads_usage:
        same = and_(usage.c.agent_id == memories.c.agent_id, usage.c.memory_id == memories.c.id)
        if not of_one(owners):  # for one owner the planner infers this
            same = and_(same, of_owners(usage, owners))
        rows = rows.outerjoin(usage, same)
    return rows if words is None else with_shares(rows, memories, words)


def words_of(
    tables: Tables, owners: str, shape: Shape, words: FromClause | None = None
) -> tuple[FromClause | None, Scope, list[ColumnElement[Any]]]:
    """The keyword shares to join to memories, None if the query has no text.

    Also returns the scope of the signals, and the shares as columns.
    """
    memories = tables.memories
    if not shape.has_text:
        return None, scope(tables, memories, as_of=shape.has_as_of, period=shape.has_period), []
    if words is None:
        words = shares(tables, owners, others=shape.worded_owners, as_of=shape.has_as_of)
    keyword = share(words)
    within = scope(
        tables, memories, as_of=shape.has_as_of, keyword=keyword, period=shape.has_period
    )
    columns: list[ColumnElement[Any]] = [keyword.label(KEYWORD)]
    if shape.redistributes:
        within = replace(within, weights_in_use=_weights_in_use(tables, shape))
    if shape.shows_relevance:
        within = _with_relevance(tables, shape, within, words)
        columns.append(words.c.coverage)
    return words, within, columns


def _with_relevance(tables: Tables, shape: Shape, within: Scope, rows: FromClause) -> Scope:
    """The scope, completed for computing the relevance of these rows."""
    comparable: ColumnElement[Any] = literal_column("1::float8", Double())
    if shape.has_query:
        both: ColumnElement[float] = literal_column("2::float8", Double())
        counted = case((has_terms(tables), both), else_=comparable)
        comparable = select(counted).scalar_subquery()  # computed once
    return replace(within, coverage=rows.c[COVERAGE], comparable=comparable)


def _weights_in_use(tables: Tables, shape: Shape) -> ColumnElement[float]:
    """1, or the sum of the weights without that of keyword if the text has only stop words."""
    [keyword] = (compiler.weight(one) for one in shape.signals if isinstance(one, Keyword))
    everything: ColumnElement[float] = literal_column("1::float8", Double())
    all_of_it = or_(has_terms(tables), keyword >= everything)
    total = case((all_of_it, everything), else_=everything - keyword)
    return select(total).scalar_subquery()  # computed once


def in_full(
    tables: Tables, owners: str, conditions: Mapping[str, Condition]
) -> tuple[FromClause, Condition]:
    """The owners' memories in a full join with their usage, as `rows_to_rank` explains.

    Returns the join, and the condition that the statement must still apply.
    """
    memories, usage = tables.memories, tables.memory_usage
    mine = [one for name, one in conditions.items() if _is_of_memory(name)]
    later = [one for name, one in conditions.items() if not _is_of_memory(name)]
    same = and_(usage.c.agent_id == memories.c.agent_id, usage.c.memory_id == memories.c.id)
    if of_one(owners):
        same = usage.c.memory_id == memories.c.id
    rows = memories.join(_one("one_memory"), and_(of_owners(memories, owners), *mine))
    theirs = usage.join(_one("one_usage"), of_owners(usage, owners))
    return rows.outerjoin(theirs, same, full=True), of_memories(tables, and_(true(), *later))


def _is_of_memory(name: str) -> bool:
    """A condition of the caller's may read usage too."""
    return name not in _OF_JOINED and not name.startswith("where ")


def of_memories(tables: Tables, condition: Condition) -> Condition:
    """The condition, false for rows of a full join without a memory; the planner cannot tell."""
    return case((tables.memories.c.id.is_(None), false()), else_=condition)
