"""The search statement: rank all candidate rows narrowly, then describe the k that are left."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    Double,
    FromClause,
    Integer,
    Select,
    Subquery,
    and_,
    bindparam,
    func,
    select,
)
from sqlalchemy.sql.selectable import Join

from pgrecall import compiler
from pgrecall.compiler import Scope
from pgrecall.embedding import StoredVector
from pgrecall.filters import Filters
from pgrecall.profile import Profile
from pgrecall.schema import Tables
from pgrecall.statements.conditions import conditions, moment, owned
from pgrecall.statements.reading import memory_columns, with_usage

SIGNAL_PREFIX = "signal_"


def search(
    tables: Tables,
    agent_id: str,
    query: StoredVector,
    *,
    k: int,
    profile: Profile,
    filters: Filters,
    min_score: float | None,
    min_similarity: float | None,
    as_of: datetime | None,
) -> Select[tuple[object, ...]]:
    """The k best memories, best first, ties by id.

    Columns: those of a memory and its usage, then score, similarity and one `signal_<name>` per
    signal. Two phases: the inner one scores every row that passes and carries only id and score
    into the sort, the outer one fetches the rest for k rows.
    """
    ranked = _ranked(tables, agent_id, k, profile, filters, min_similarity, as_of)
    memories, usage = tables.agent_memories, tables.memory_usage
    scope = Scope(tables.schema, memories, usage, compiler.query_parameter(), moment(as_of))
    statement = (
        select(
            *memory_columns(memories, usage),
            ranked.c.score,
            compiler.similarity(scope).label("similarity"),
            *(
                compiler.value(signal, scope).label(SIGNAL_PREFIX + signal.name)
                for signal in profile.signals
            ),
        )
        .select_from(_described(ranked, memories, usage))
        .order_by(ranked.c.score.desc(), ranked.c.id)
    )
    if min_score is not None:
        # Equal to filtering before the limit, since the k best are best; and computed once.
        statement = statement.where(
            ranked.c.score >= bindparam("min_score", min_score, type_=Double())
        )
    return statement.params(query=query)


def _ranked(
    tables: Tables,
    agent_id: str,
    k: int,
    profile: Profile,
    filters: Filters,
    min_similarity: float | None,
    as_of: datetime | None,
) -> Subquery:
    memories, usage = tables.agent_memories, tables.memory_usage
    scope = Scope(tables.schema, memories, usage, compiler.query_parameter(), moment(as_of))
    score = compiler.score(profile, scope).label("score")
    statement = (
        select(memories.c.agent_id, memories.c.id, score)
        .select_from(with_usage(memories, usage) if profile.reads_usage else memories)
        .where(owned(memories, agent_id))
        .where(*conditions(memories, tables.schema, filters, as_of))
        .order_by(score.desc(), memories.c.id)
        .limit(bindparam("k", k, type_=Integer()))
    )
    if min_similarity is not None:
        statement = statement.where(
            compiler.similarity(scope)
            >= bindparam("min_similarity", min_similarity, type_=Double())
        )
    return statement.subquery("ranked")


def _described(ranked: Subquery, memories: FromClause, usage: FromClause) -> Join:
    return ranked.join(
        memories,
        and_(memories.c.agent_id == ranked.c.agent_id, memories.c.id == ranked.c.id),
    ).outerjoin(
        usage,
        and_(usage.c.agent_id == ranked.c.agent_id, usage.c.memory_id == ranked.c.id),
    )


def count(tables: Tables, agent_id: str, filters: Filters, as_of: datetime | None) -> Select[int]:
    """How many memories of the agent pass the filters at as_of."""
    memories = tables.agent_memories
    return (
        select(func.count())
        .select_from(memories)
        .where(owned(memories, agent_id))
        .where(*conditions(memories, tables.schema, filters, as_of))
    )
