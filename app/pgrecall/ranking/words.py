"""Statements about words: which of a query's terms each memory has, and what they weigh."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    Boolean,
    ColumnElement,
    Double,
    FromClause,
    Select,
    Table,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.sql.selectable import Join, Lateral, LateralFromClause, TableValuedAlias

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


def shares_of_each(memories: Table, terms: FromClause) -> LateralFromClause:
    """The share of each row that is scored, given the terms of its owner.

    `terms` has owner_id, term, weight and idf. Columns: share, coverage.
    """
    unpacked = func.tsvector_to_array(memories.c.terms, type_=ARRAY(Text))
    its = (
        select(unpacked.label("terms"))
        .correlate(memories)
        .offset(literal_column("0"))  # unpacks the words once per row, not once per term
        .lateral("its")
    )
    weight = func.sum(terms.c.weight, type_=Double())
    matched = weight.filter(terms.c.term == any_(its.c.terms))
    part = func.coalesce(matched / weight, literal_column("0::float8"), type_=Double())
    return (
        select(
            func.least(part, literal_column("1::float8"), type_=Double()).label("share"),
            (weight / func.sum(terms.c.idf, type_=Double())).label("coverage"),
        )
        .select_from(its.join(terms, true()))
        .where(terms.c.owner_id == memories.c.agent_id)
        .lateral("words")
    )


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


def weighed(
    tables: Tables, owner_id: ColumnElement[Any], *, exact: bool, others: str, as_of: bool
) -> FromClause:
    """A call of the SQL function term_weights: term, memories, weight, idf.

    Parameters: query_text, `others` (all owners searched) and as_of if given.
    """
    found: Any = compiler.schema_function(
        tables.schema,
        "term_weights",
        owner_id,
        query_text(),
        literal_column(str(exact).lower(), Boolean()),
        owners_array(others),
        moment(True) if as_of else _NEVER,
        type_=Text(),
    )
    rows: FromClause = found.table_valued(
        column("term", Text()),
        column("memories", BigInteger()),
        column("weight", Double()),
        column("idf", Double()),
        name="weighed",
    )
    return rows


@lru_cache
def terms_of(tables: Tables, *, others: str, as_of: bool) -> Select[Any]:
    """The query's terms with their weights, and whether the memory `id` of `whose` has them."""
    memories, whose = tables.memories, bindparam("whose", type_=Text())
    terms = weighed(tables, whose, exact=True, others=others, as_of=as_of)
    this = and_(memories.c.agent_id == whose, memories.c.id == bindparam("id", type_=Uuid()))
    stored = select(func.tsvector_to_array(memories.c.terms)).where(this).scalar_subquery()
    has = func.array_position(stored, terms.c.term).is_not(None)
    return select(terms.c.term, terms.c.memories, terms.c.weight, has.label("matched"))


def has_terms(tables: Tables) -> ColumnElement[bool]:
    """Condition: the query's text has a term that is not a stop word; computed once a statement."""
    return select(_asked(tables.schema).c.has_terms).scalar_subquery()


@lru_cache
def _asked(schema: str) -> CTE:
    found: Any = compiler.schema_function(schema, "query_terms", query_text(), type_=Text())
    rows = found.table_valued(column("term", Text()), name="counting")
    any_term = select(rows.c.term).select_from(rows).exists()
    return select(any_term.label("has_terms")).cte("asked").prefix_with("MATERIALIZED")
