"""Parts of the search statement: rank rows by id and score alone, then fetch the k best in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
)

from pgrecall.ranking.by_key import by_key, usage_by_key
from pgrecall.ranking.conditions import (
    HIDDEN_OWNER,
    OWNER,
    Condition,
    conditions,
    custom_conditions,
    hidden,
    of_one,
    of_owners,
    owned,
    scope,
)
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.filters import Filters, FilterShape
from pgrecall.ranking.memory_columns import memory_columns, with_usage
from pgrecall.ranking.search_parameters import Shape
from pgrecall.ranking.words import has_terms, same_memory, share, shares, with_shares
from pgrecall.schema import Tables
from pgrecall.scoring import compiler
from pgrecall.scoring.compiler import Scope
from pgrecall.scoring.signals import Keyword, requires_embedding

SIGNAL_PREFIX = "signal_"
RELEVANCE = "relevance"
HAS_TERMS = "has_terms"
KEYWORD, COVERAGE = "keyword", "coverage"


def ranked_most(shape: Shape) -> ColumnElement[int]:
    """The parameter `most`: how many rows are ranked by their own score."""
    most: Any = bindparam("ranked" if shape.lends else "k", type_=Integer())
    return hidden(most) if shape.owners == HIDDEN_OWNER else most


def described_in_order(
    tables: Tables,
    shape: Shape,
    best: FromClause,
) -> Select[Any]:
    """The ranked rows in full, best first.

    The condition on owners is repeated, since this query contains no expression of the caller.
    """
    memories = by_key(tables, best, shape.owners)
    found = _in_full(tables, best, memories, shape)
    return found.order_by(best.c.score.desc(), best.c.id)


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


def scored(
    tables: Tables,
    shape: Shape,
    where: Sequence[Expression],
    *,
    owners: str | None = None,
    among: FromClause | None = None,
    words: FromClause | None = None,
) -> Select[Any]:
    """Owner, id and score of every memory that passes; with a query text, the keyword shares too.

    `owners` is the parameter with the owners, by default that of the search. `among` restricts the
    rows to these (owner_id, id); its other columns are returned too. `words` are the keyword shares
    (owner_id, id, share), by default those of all memories.
    """
    memories = tables.memories
    owners = owners or shape.owners
    words, within, keyword = words_of(tables, owners, shape, words)
    conditions = passing(within, shape, where)
    if among is None:
        rows, condition = rows_to_rank(tables, owners, shape, conditions, words)
    else:
        same = and_(memories.c.agent_id == among.c.owner_id, memories.c.id == among.c.id)
        rows = _joined(tables, owners, shape, among.join(memories, same), words)
        condition = and_(of_owners(memories, owners), *conditions.values())
    statement = (
        select(
            memories.c.agent_id.label("owner_id"),
            memories.c.id,
            compiler.score(shape.signals, within).label("score"),
            *keyword,
        )
        .select_from(rows)
        .where(condition)
    )
    carried = () if among is None else (c for c in among.c if c.name not in ("owner_id", "id"))
    return statement.add_columns(*carried)


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
    memories = tables.memories
    if shape.reads_usage:
        rows = with_usage(memories, tables.memory_usage, rows, owners)
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


def _in_full(tables: Tables, ranked: Any, memories: FromClause, shape: Shape) -> Select[Any]:
    """The ranked memories in full, with the value of every signal."""
    usage = usage_by_key(tables, ranked, shape.owners)
    within = replace(of_ranked(tables, shape, memories, ranked), usage=usage)
    statement = select(
        *memory_columns(memories, usage),
        ranked.c.score,
        *signal_columns(shape, within),
        *([has_terms(tables).label(HAS_TERMS)] if shape.redistributes else []),
    ).select_from(ranked.join(memories, true()).outerjoin(usage, true()))
    if shape.has_min_score:
        # Filtering after the limit gives the same rows, and the score is computed once.
        floor: Any = bindparam("min_score", type_=Double())
        statement = statement.where(ranked.c.score >= floor)
    return statement


def of_ranked(tables: Tables, shape: Shape, memories: FromClause, ranked: Any) -> Scope:
    """The scope in which signals of memories that are already ranked are computed."""
    keyword = ranked.c[KEYWORD] if shape.has_text else None
    within = scope(
        tables, memories, as_of=shape.has_as_of, keyword=keyword, period=shape.has_period
    )
    if shape.has_text and shape.shows_relevance:
        return _with_relevance(tables, shape, within, ranked)
    return within


def signal_columns(shape: Shape, within: Scope) -> list[ColumnElement[Any]]:
    """The similarity, the cosine, the relevance if it is needed, and the value of each signal."""
    return [
        compiler.similarity(within).label("similarity"),
        compiler.cosine(within).label("cosine"),
        *([compiler.relevance(within).label(RELEVANCE)] if shape.shows_relevance else []),
        *(
            compiler.value(signal, within).label(SIGNAL_PREFIX + signal.name)
            for signal in shape.signals
        ),
    ]


def count_statement(tables: Tables, filters: Filters, *, as_of: bool) -> Select[int]:
    """How many memories of `owner_id` pass the filters at `as_of`."""
    passing = passing_filters(tables, filters.shape, filters.where, as_of=as_of)
    return passing.with_only_columns(func.count())


def passing_filters(
    tables: Tables,
    filters: FilterShape,
    where: Sequence[Expression],
    *,
    as_of: bool,
    usage: bool = False,
    lock: bool = False,
) -> Select[Any]:
    """The ids of the memories of `owner_id` that pass the filters at `as_of`.

    They are joined to their usage if `usage` is set or a filter reads it: in full, unless they are
    to be locked.
    """
    memories = tables.memories
    within = scope(tables, memories, as_of=as_of)
    found = _expected(conditions(within, filters, as_of=as_of)) | custom_conditions(where)
    if not (usage or filters.reads_usage):
        return select(memories.c.id).where(owned(memories), *found.values())
    if lock:
        rows: FromClause = with_usage(memories, tables.memory_usage)
        return select(memories.c.id).select_from(rows).where(owned(memories), *found.values())
    rows, condition = in_full(tables, OWNER, found)
    return select(memories.c.id).select_from(rows).where(condition)


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
