"""The search statement: rank all candidate rows narrowly, then describe the k that are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    CompoundSelect,
    Double,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy import (
    Table as MemoryTable,
)

from pgrecall import compiler
from pgrecall.compiler import Scope
from pgrecall.embedding import StoredVector
from pgrecall.filters import Filters
from pgrecall.profile import Profile
from pgrecall.schema import Tables, owner
from pgrecall.signals import Similarity
from pgrecall.statements.conditions import (
    Condition,
    conditions,
    moment,
    owned,
    owned_by_any,
)
from pgrecall.statements.reading import memory_columns, with_usage

SIGNAL_PREFIX = "signal_"


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for; see `operations.search` for the meaning of each."""

    agent_id: str
    query: StoredVector | None
    k: int
    profile: Profile
    filters: Filters
    teams: Sequence[str] = ()
    query_entities: Sequence[str] = ()
    min_score: float | None = None
    min_similarity: float | None = None
    as_of: datetime | None = None


def search(tables: Tables, wanted: Search) -> Select[Any] | CompoundSelect[Any]:
    """The k best memories, best first, ties by id.

    Columns: those of a memory and its usage, then score, similarity and one `signal_<name>` per
    signal. Two phases: the inner one scores every row that passes and carries only id and score
    into the sort, the outer one fetches the rest for k rows.
    """
    own = _ranked(tables, tables.memories, owned(tables.memories, wanted.agent_id), wanted)
    statement: Select[Any] | CompoundSelect[Any]
    if not wanted.teams:
        ranked = own.subquery("ranked")
        statement = _described(tables, tables.memories, ranked, wanted).order_by(
            ranked.c.score.desc(), ranked.c.id
        )
    else:
        of_teams = owned_by_any(tables.team_memories, wanted.teams)
        theirs = _ranked(tables, tables.team_memories, of_teams, wanted)
        merged = union_all(
            select(own.subquery("own"), literal_column("false", Boolean()).label("of_team")),
            select(theirs.subquery("theirs"), literal_column("true", Boolean()).label("of_team")),
        ).subquery("merged")
        best = (
            select(merged)
            .order_by(merged.c.score.desc(), merged.c.id)
            .limit(bindparam("k", wanted.k, type_=Integer()))
            .cte("ranked")
        )
        statement = union_all(
            _described(tables, tables.memories, best, wanted).where(~best.c.of_team),
            _described(tables, tables.team_memories, best, wanted).where(best.c.of_team),
        ).order_by(literal_column("score").desc(), literal_column("id"))
    return statement.params(query=wanted.query, query_entities=list(wanted.query_entities))


def scope(tables: Tables, memories: MemoryTable, as_of: datetime | None) -> Scope:
    """What signals are computed from in our own statements: everything bound."""
    return Scope(
        schema=tables.schema,
        memories=memories,
        usage=tables.memory_usage,
        query=compiler.query_parameter(),
        as_of=moment(as_of),
        query_entities=compiler.query_entities_parameter(),
    )


def passing(within: Scope, wanted: Search) -> list[Condition]:
    """Every condition on a memory to be ranked at all, but whose it is."""
    found = conditions(within, wanted.filters, wanted.as_of)
    if wanted.query is not None and any(
        isinstance(signal, Similarity) and signal.required for signal in wanted.profile.signals
    ):
        found.append(within.memories.c.embedding.is_not(None))
    if wanted.min_similarity is not None:
        floor: Any = bindparam("min_similarity", wanted.min_similarity, type_=Double())
        found.append(compiler.similarity(within) >= floor)
    return found


def _ranked(tables: Tables, memories: MemoryTable, whose: Condition, wanted: Search) -> Select[Any]:
    within = scope(tables, memories, wanted.as_of)
    score = compiler.score(wanted.profile, within).label("score")
    reads_usage = wanted.profile.reads_usage or wanted.filters.reads_usage
    return (
        select(owner(memories).label("owner_id"), memories.c.id, score)
        .select_from(with_usage(memories, tables.memory_usage) if reads_usage else memories)
        .where(whose, *passing(within, wanted))
        .order_by(score.desc(), memories.c.id)
        .limit(bindparam("k", wanted.k, type_=Integer()))
    )


def _described(tables: Tables, memories: MemoryTable, ranked: Any, wanted: Search) -> Select[Any]:
    usage = tables.memory_usage
    within = scope(tables, memories, wanted.as_of)
    statement = select(
        *memory_columns(memories, usage),
        ranked.c.score,
        compiler.similarity(within).label("similarity"),
        *(
            compiler.value(signal, within).label(SIGNAL_PREFIX + signal.name)
            for signal in wanted.profile.signals
        ),
    ).select_from(
        ranked.join(
            memories,
            and_(owner(memories) == ranked.c.owner_id, memories.c.id == ranked.c.id),
        ).outerjoin(
            usage,
            and_(usage.c.agent_id == ranked.c.owner_id, usage.c.memory_id == ranked.c.id),
        )
    )
    if wanted.min_score is not None:
        # Equal to filtering before the limit, since the k best are best; and computed once.
        floor: Any = bindparam("min_score", wanted.min_score, type_=Double())
        statement = statement.where(ranked.c.score >= floor)
    return statement


def count(tables: Tables, agent_id: str, filters: Filters, as_of: datetime | None) -> Select[int]:
    """How many memories of the agent pass the filters at as_of."""
    memories = tables.memories
    within = scope(tables, memories, as_of)
    return (
        select(func.count())
        .select_from(with_usage(memories, tables.memory_usage) if filters.reads_usage else memories)
        .where(owned(memories, agent_id), *conditions(within, filters, as_of))
    )


def known_entities(
    tables: Tables, agent_id: str, teams: Sequence[str], text: str, limit: int
) -> Select[Any]:
    """Entities of the owners' memories that occur in the text as whole words, longest first."""
    stores = [(tables.memories, owned(tables.memories, agent_id))]
    if teams:
        stores.append((tables.team_memories, owned_by_any(tables.team_memories, teams)))
    entities = union_all(
        *(
            select(func.unnest(memories.c.entities, type_=Text()).label("entity")).where(whose)
            for memories, whose in stores
        )
    ).subquery()
    known = select(entities.c.entity).distinct().subquery("known")
    entity: Any = known.c.entity
    asked = bindparam("text", text, type_=Text())
    escaped = func.regexp_replace(entity, r"([^[:alnum:]_[:space:]])", r"\\\1", "g")
    whole_words = func.concat(r"(?<!\w)", escaped, r"(?!\w)")
    return (
        select(entity)
        .where(entity != "", func.strpos(func.lower(asked), func.lower(entity)) > 0)
        .where(asked.regexp_match(whole_words, flags="i"))
        .order_by(func.length(entity).desc(), entity)
        .limit(limit)
    )
