"""The list of rank indexes: which there are, and what has happened since each was built."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    DateTime,
    Double,
    Integer,
    Select,
    Text,
    and_,
    any_,
    bindparam,
    cast,
    delete,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, Insert, insert
from sqlalchemy.sql.dml import ReturningDelete

from pgrecall.rank_index import MAX_BESIDE
from pgrecall.schema import Tables, owner

FIELDS = (
    *("relation", "space", "as_of", "built_at", "memories"),
    *("at_least", "m", "ef_construction", "seconds"),
)


@lru_cache
def rank_indexes(tables: Tables) -> Select[Any]:
    """Those of `owner_id` in this table of memories and of the `teams` in theirs."""
    indexes = tables.rank_indexes
    own = and_(
        indexes.c.agent_id == bindparam("owner_id", type_=Text()),
        indexes.c.table_name == literal_column(f"'{tables.memories.name}'", Text()),
    )
    theirs = and_(
        indexes.c.agent_id == any_(cast(bindparam("teams", type_=ARRAY(Text)), ARRAY(Text))),
        indexes.c.table_name == literal_column(f"'{tables.team_memories.name}'", Text()),
    )
    return select(indexes).where(or_(own, theirs))


@lru_cache
def all_rank_indexes(tables: Tables) -> Select[Any]:
    """Those of every owner in this table of memories.

    As `owners` it asks for no owner, since it asks who there is.
    """
    indexes = tables.rank_indexes
    return (
        select(indexes)
        .where(indexes.c.table_name == literal_column(f"'{tables.memories.name}'", Text()))
        .order_by(indexes.c.agent_id)
    )


@lru_cache
def since_built(tables: Tables) -> Select[Any]:
    """What has happened to the owner's memories since `built_at` and `as_of`, each up to a limit.

    Also the size of the `relation`, NULL where it is gone. Parameters: owner_id, too.
    """
    memories, events, usage = tables.memories, tables.memory_events, tables.memory_usage
    owner_id = bindparam("owner_id", type_=Text())
    built_at = bindparam("built_at", type_=DateTime(timezone=True))
    many: Any = literal_column(str(10 * MAX_BESIDE))
    written: Any = select(literal_column("1").label("one")).where(
        owner(memories) == owner_id, memories.c.inserted_at >= built_at
    )
    changed = (
        select(events.c.memory_id)
        .where(
            events.c.agent_id == owner_id,
            events.c.occurred_at >= built_at,
            events.c.event_type != literal_column("'initial'"),
        )
        .distinct()
    )
    used: Any = select(literal_column("1").label("one")).where(
        usage.c.agent_id == owner_id,
        usage.c.last_accessed_at > bindparam("as_of", type_=DateTime(timezone=True)),
    )
    numbers = {"written": written, "changed": changed, "used": used}
    name = func.format(
        literal("%I.%I", Text()),
        literal(tables.schema, Text()),
        bindparam("relation", type_=Text()),
    )
    return select(
        *(
            select(func.count())
            .select_from(statement.limit(many).subquery(label))
            .scalar_subquery()
            .label(label)
            for label, statement in numbers.items()
        ),
        func.pg_total_relation_size(func.to_regclass(name), type_=BigInteger()).label("bytes"),
        func.now(type_=DateTime(timezone=True)).label("at"),
    )


@lru_cache
def count_up_to(tables: Tables) -> Select[Any]:
    """How many memories the owner has, looked up in the key and at most `most`."""
    memories = tables.memories
    some = (
        select(memories.c.id)
        .where(owner(memories) == bindparam("owner_id", type_=Text()))
        .limit(bindparam("most", type_=Integer()))
        .subquery("some")
    )
    number: Any = func.count().label("memories")
    return select(number, func.now(type_=DateTime(timezone=True)).label("at")).select_from(some)


@lru_cache
def note_rank_index(tables: Tables) -> Insert:
    """Takes the table `relation` into use; parameters: owner_id and FIELDS as `its_…`."""
    indexes = tables.rank_indexes
    statement = insert(indexes).values(
        agent_id=bindparam("owner_id", type_=Text()),
        table_name=literal_column(f"'{tables.memories.name}'", Text()),
        **{name: bindparam(f"its_{name}", type_=indexes.c[name].type) for name in FIELDS},
    )
    return statement.on_conflict_do_update(
        index_elements=[indexes.c.agent_id, indexes.c.table_name],
        set_={name: statement.excluded[name] for name in FIELDS},
    )


@lru_cache
def forget_rank_index(tables: Tables) -> ReturningDelete[Any]:
    """Takes the owner's rank index out of use; returns the `relation`."""
    indexes = tables.rank_indexes
    return (
        delete(indexes)
        .where(
            indexes.c.agent_id == bindparam("owner_id", type_=Text()),
            indexes.c.table_name == literal_column(f"'{tables.memories.name}'", Text()),
        )
        .returning(indexes.c.relation)
    )


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


@lru_cache
def build_progress(tables: Tables) -> Select[Any]:
    """The share of the blocks read by index builds on tables that nobody else can see yet.

    As a rank index is: its table and the index are made in one transaction.
    """
    blocks: Any = func.sum(literal_column("p.blocks_total"))
    done: Any = cast(func.sum(literal_column("p.blocks_done")), Double())
    seen: Any = select(literal_column("1")).select_from(text("pg_class c"))
    return (
        select((done / func.nullif(blocks, literal_column("0"))).label("share"))
        .select_from(text("pg_stat_progress_create_index p"))
        .where(
            literal_column("p.datname") == func.current_database(),
            ~seen.where(literal_column("c.oid") == literal_column("p.relid")).exists(),
        )
    )


@lru_cache
def lock_build(tables: Tables) -> Select[Any]:
    """Waits for another build for this owner and holds off others until the transaction ends."""
    return _locked(tables, "rank index")


@lru_cache
def lock_deletes(tables: Tables) -> Select[Any]:
    """The same for who deletes memories of this owner; `forget_positions` takes its share of it."""
    return _locked(tables, "positions")


def _locked(tables: Tables, what: str) -> Select[Any]:
    names = literal(f"pgrecall {what} {tables.schema} {tables.memories.name} ", Text())
    owner_id: Any = bindparam("owner_id", type_=Text())
    key = func.hashtextextended(names + owner_id, literal_column("0::bigint"))
    return select(func.pg_advisory_xact_lock(key).label("locked"))
