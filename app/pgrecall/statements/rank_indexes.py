"""The list of rank indexes: which there are, and what has happened since each was built."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    DateTime,
    Integer,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    case,
    delete,
    func,
    literal,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.sql.dml import ReturningDelete

from pgrecall.rank_index import MAX_BESIDE
from pgrecall.schema import Tables
from pgrecall.statements.conditions import OWNERS, active, of_owners, owned
from pgrecall.statements.owners import asked
from pgrecall.statements.words import text_language

FIELDS = (
    *("relation", "space", "as_of", "built_at", "memories"),
    *("at_least", "m", "ef_construction", "seconds", "candidates"),
)
TERMS = ("term_memories", "common_terms")
"""What it knows of words; used inside the database only."""
LIKENESS = "likeness"
"""What it knows of similarity; likewise."""


@lru_cache
def rank_indexes(tables: Tables) -> Select[Any]:
    """Those of the `owners`."""
    indexes = tables.rank_indexes
    return select(*_told(indexes)).where(of_owners(indexes, OWNERS))


@lru_cache
def all_rank_indexes(tables: Tables) -> Select[Any]:
    """Those of every agent, or of every team.

    As `owners` it asks for no owner, since it asks who there is.
    """
    indexes = tables.rank_indexes
    whose = indexes.c.agent_id
    return select(*_told(indexes)).where(asked(tables, whose)).order_by(whose)


def _told(indexes: Table) -> list[ColumnElement[Any]]:
    return [column for column in indexes.c if column.name not in (*TERMS, LIKENESS)]


@lru_cache
def since_built(tables: Tables) -> Select[Any]:
    """What has happened to the owner's memories since `built_at` and `as_of`, each up to a limit.

    Also the size of the `relation`, NULL where it is gone, and whether it has the words of memories
    as they are compared now. Parameters: owner_id, too.
    """
    memories, events, usage = tables.memories, tables.memory_events, tables.memory_usage
    built_at = bindparam("built_at", type_=DateTime(timezone=True))
    many: Any = literal_column(str(10 * MAX_BESIDE))
    written: Any = select(literal_column("1").label("one")).where(
        owned(memories), memories.c.inserted_at >= built_at
    )
    changed = (
        select(events.c.memory_id)
        .where(
            owned(events),
            events.c.occurred_at >= built_at,
            events.c.event_type != literal_column("'initial'"),
        )
        .distinct()
    )
    used: Any = select(literal_column("1").label("one")).where(
        owned(usage),
        usage.c.last_accessed_at > bindparam("as_of", type_=DateTime(timezone=True)),
    )
    numbers = {"written": written, "changed": changed, "used": used}
    name = func.format(
        literal("%I.%I", Text()),
        literal(tables.schema, Text()),
        bindparam("relation", type_=Text()),
    )
    table: Any = func.to_regclass(name)
    return select(
        *(
            select(func.count())
            .select_from(statement.limit(many).subquery(label))
            .scalar_subquery()
            .label(label)
            for label, statement in numbers.items()
        ),
        func.pg_total_relation_size(table, type_=BigInteger()).label("bytes"),
        _has_words(tables, table).label("has_words"),
        func.now(type_=DateTime(timezone=True)).label("at"),
    )


def _has_words(tables: Tables, table: ColumnElement[Any]) -> ColumnElement[bool]:
    """Not where an earlier version built it, or the language was another one then."""
    indexes = tables.rank_indexes
    known: Any = select(literal_column("1")).where(
        owned(indexes),
        indexes.c.relation == bindparam("relation", type_=Text()),
        indexes.c.term_memories.is_not(None),
    )
    beside: Any = (
        select(literal_column("1"))
        .select_from(text("pg_attribute a"))
        .where(
            literal_column("a.attrelid") == table,
            literal_column("a.attname") == literal_column("'words'"),
        )
    )
    return and_(known.exists(), beside.exists())


@lru_cache
def count_up_to(tables: Tables) -> Select[Any]:
    """How many active memories the owner has, at most `most`; so many entries are looked at."""
    memories = tables.memories
    some = (
        select(memories.c.id)
        .where(owned(memories), active(memories))
        .limit(bindparam("most", type_=Integer()))
        .subquery("some")
    )
    number: Any = func.count().label("memories")
    return select(number, func.now(type_=DateTime(timezone=True)).label("at")).select_from(some)


@lru_cache
def note_rank_index(tables: Tables) -> Insert:
    """Takes the table `relation` into use; parameters: owner_id, FIELDS, TERMS and LIKENESS as
    `its_…`.

    TERMS stay unknown where words are no longer compared by `its_language`: that is looked at under
    the lock for which a change of the language waits.
    """
    indexes = tables.rank_indexes
    names = (*FIELDS, *TERMS, LIKENESS)
    its: dict[str, Any] = {
        name: bindparam(f"its_{name}", type_=indexes.c[name].type) for name in names
    }
    same = text_language(tables.schema) == bindparam("its_language", type_=Text())
    statement = insert(indexes).values(
        agent_id=bindparam("owner_id", type_=Text()),
        **its | {name: case((same, its[name])) for name in TERMS},
    )
    return statement.on_conflict_do_update(
        index_elements=[indexes.c.agent_id],
        set_={name: statement.excluded[name] for name in names},
    )


@lru_cache
def forget_rank_index(tables: Tables) -> ReturningDelete[Any]:
    """Takes the owner's rank index out of use; returns the `relation`."""
    indexes = tables.rank_indexes
    return delete(indexes).where(owned(indexes)).returning(indexes.c.relation)


@lru_cache
def unused_relations(tables: Tables) -> Select[Any]:
    """Tables of positions that no rank index uses: replaced ones that could not be dropped."""
    relation = literal_column("c.relname", Text())
    namespace = func.to_regnamespace(func.quote_ident(literal(tables.schema, Text())))
    return (
        select(relation.label("relation"))
        .select_from(text("pg_class c"))
        .where(
            literal_column("c.relnamespace") == namespace,
            literal_column("c.relkind") == literal_column("'r'"),
            relation.regexp_match(literal_column("'^ranks_[0-9a-f]{32}$'")),
            relation.not_in(select(tables.rank_indexes.c.relation)),
        )
    )
