"""Statements about words: which of a query's terms each memory has, and what they weigh."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    FromClause,
    Table,
    Text,
    Uuid,
    and_,
    bindparam,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.sql.selectable import Join, Lateral, TableValuedAlias

from pgrecall.ranking.conditions import OWNER, moment, of_one, texts
from pgrecall.schema import Tables
from pgrecall.scoring import compiler


def query_text() -> ColumnElement[Any]:
    return bindparam("query_text", type_=Text())


def shares(tables: Tables, owners: str, *, others: str, as_of: bool) -> FromClause:
    """The share of the query's terms that each memory of these owners has, if any.

    Columns: id, share, coverage and, for several owners, owner_id. For one owner it is left out: a
    join on one more column would make the planner expect so few rows that it may choose a nested
    loop. Parameters: query_text, `owners`, `others` (all owners searched) and as_of if given.
    """
    rows = keyword_shares(
        tables,
        owners_array(owners),
        query_text(),
        owners_array(others),
        moment(True) if as_of else _NEVER,
    )
    columns = [rows.c.memory_id.label("id"), rows.c.share, rows.c.coverage]
    if not of_one(owners):
        columns.append(rows.c.agent_id.label("owner_id"))
    return select(*columns).subquery("words_of_owners")


_NEVER: ColumnElement[Any] = literal_column("NULL::timestamptz")


def owners_array(owners: str) -> ColumnElement[Any]:
    """The parameter with the owners as an array."""
    return array([bindparam(OWNER, type_=Text())]) if of_one(owners) else texts(owners)


def keyword_shares(
    tables: Tables,
    owners: ColumnElement[Any],
    text: ColumnElement[Any],
    others: ColumnElement[Any],
    explicit_as_of: ColumnElement[Any],
) -> TableValuedAlias:
    """A call of the SQL function keyword_shares: agent_id, memory_id, share, coverage."""
    arguments = (owners, text, others, explicit_as_of)
    found: Any = compiler.schema_function(tables.schema, "keyword_shares", *arguments, type_=Uuid())
    rows: TableValuedAlias = found.table_valued(
        column("agent_id", Text()),
        column("memory_id", Uuid()),
        column("share", Double()),
        column("coverage", Double()),
        name="words",
    )
    return rows


def with_shares(rows: FromClause, memories: Table, words: FromClause) -> Join:
    """Joins every memory to its share; memories without any term have none."""
    if isinstance(words, Lateral):
        return rows.join(words, true())
    return rows.outerjoin(words, same_memory(words, memories))


def same_memory(words: FromClause, memories: Table) -> ColumnElement[bool]:
    """Condition: a row of shares is of this memory."""
    same: ColumnElement[bool] = words.c.id == memories.c.id
    return and_(words.c.owner_id == memories.c.agent_id, same) if "owner_id" in words.c else same


def share(words: FromClause) -> ColumnElement[float]:
    """The share, 0 if the memory has none of the terms."""
    return func.coalesce(words.c.share, literal_column("0::float8"), type_=Double())


def has_terms(tables: Tables) -> ColumnElement[bool]:
    """Condition: the query's text has a term that is not a stop word; computed once a statement."""
    return select(_asked(tables.schema).c.has_terms).scalar_subquery()


@lru_cache
def _asked(schema: str) -> CTE:
    found: Any = compiler.schema_function(schema, "query_terms", query_text(), type_=Text())
    rows = found.table_valued(column("term", Text()), name="counting")
    any_term = select(rows.c.term).select_from(rows).exists()
    return select(any_term.label("has_terms")).cte("asked").prefix_with("MATERIALIZED")
