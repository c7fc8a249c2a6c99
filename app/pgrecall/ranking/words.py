"""The words of memories: their shares in a query's, and the terms that a memory has of it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Double,
    FromClause,
    Integer,
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
    table,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.sql.selectable import Join, Lateral, LateralFromClause, TableValuedAlias

from pgrecall.ranking.conditions import OWNER, asked_for, moment, of_one, owned, texts
from pgrecall.schema import Tables
from pgrecall.scoring import compiler


def query_text() -> ColumnElement[Any]:
    return bindparam("query_text", type_=Text())


def shares(tables: Tables, owners: str, *, others: str, as_of: bool) -> FromClause:
    """The share of the query's terms that these owners' memories have, where they have any.

    Columns: id, share, coverage, and of several owners owner_id: with a condition more the planner
    would expect so few rows that it might compare each with each. Parameters: query_text, the
    owners', `others`, all that are searched, and as_of where it is given.
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
    """Those whom the parameter of this name tells, as an array."""
    return array([bindparam(OWNER, type_=Text())]) if of_one(owners) else texts(owners)


def keyword_shares(
    tables: Tables,
    owners: ColumnElement[Any],
    text: ColumnElement[Any],
    others: ColumnElement[Any],
    asked_about: ColumnElement[Any],
) -> TableValuedAlias:
    """The rows of the SQL function: agent_id, memory_id, share, coverage."""
    arguments = (owners, text, others, asked_about)
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
    """The keyword signal of each row that is scored, by the terms of its owner.

    `terms`: owner_id, term, weight, idf. Columns: share, coverage. The row's words are unpacked
    once, not for each term.
    """
    unpacked = func.tsvector_to_array(memories.c.terms, type_=ARRAY(Text))
    its = (
        select(unpacked.label("terms"))
        .correlate(memories)
        .offset(literal_column("0"))  # or it would be unpacked for each term after all
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


def with_shares(
    rows: FromClause, memories: Table, words: FromClause, *, full: bool = False
) -> Join:
    """Every memory beside its share; those without any term have none.

    `full` adds rows of shares without a memory.
    """
    if isinstance(words, Lateral):
        return rows.join(words, true())
    same: ColumnElement[bool] = words.c.id == memories.c.id
    if "owner_id" in words.c:
        same = and_(words.c.owner_id == memories.c.agent_id, same)
    return rows.outerjoin(words, same, full=full)


def share(words: FromClause) -> ColumnElement[float]:
    """The keyword signal, never NULL."""
    return func.coalesce(words.c.share, literal_column("0::float8"), type_=Double())


def weighed(
    tables: Tables, owner_id: ColumnElement[Any], *, exact: bool, others: str, as_of: bool
) -> FromClause:
    """The terms of the query with their weights, as of `term_weights`: term, memories, weight, idf.

    Parameters: query_text, `others`, all that are searched, and as_of where it is given.
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
    """The query's terms, whether the memory `id` of `whose` has each, and what each weighs."""
    memories, whose = tables.memories, bindparam("whose", type_=Text())
    terms = weighed(tables, whose, exact=True, others=others, as_of=as_of)
    this = and_(memories.c.agent_id == whose, memories.c.id == bindparam("id", type_=Uuid()))
    stored = select(func.tsvector_to_array(memories.c.terms)).where(this).scalar_subquery()
    has = func.array_position(stored, terms.c.term).is_not(None)
    return select(terms.c.term, terms.c.memories, terms.c.weight, has.label("matched"))


def has_terms(tables: Tables) -> ColumnElement[bool]:
    """Whether the query has a term that counts."""
    found: Any = compiler.schema_function(tables.schema, "query_terms", query_text(), type_=Text())
    rows = found.table_valued(column("term", Text()), name="counting")
    return select(rows.c.term).select_from(rows).exists()


@lru_cache
def narrows(tables: Tables) -> Select[Any]:
    """Whether the `text` filter asks for anything: not where it holds only stop words."""
    nodes: Any = func.numnode(asked_for(tables.schema), type_=Integer())
    return select((nodes > literal_column("0")).label("narrows"))


@lru_cache
def telling_terms_statement(tables: Tables) -> Select[Any]:
    """The `limit` most telling terms of `owner_id`: term, memories, weight, telling."""
    names = ("agent_id", "term", "memories", "weight", "telling")
    view = table("telling_terms", *map(column, names), schema=tables.schema)
    return (
        select(view.c.term, view.c.memories, view.c.weight, view.c.telling)
        .where(owned(view))
        .order_by(view.c.telling.desc(), view.c.term)
        .limit(bindparam("limit", type_=Integer()))
    )
