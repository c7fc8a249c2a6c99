"""What surrounds the build of a rank index: whom it waits for, and with what settings it runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Double,
    Select,
    Text,
    bindparam,
    case,
    cast,
    func,
    literal,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import REGCLASS

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.statements.conditions import active, owned
from pgrecall.statements.names import full_name
from pgrecall.statements.reading import with_usage
from pgrecall.statements.words import text_language

SETTINGS = ("maintenance_work_mem", "max_parallel_maintenance_workers", "statement_timeout")
"""What a build changes for the rest of its transaction."""


@lru_cache
def settings(tables: Tables) -> Select[Any]:
    """SETTINGS as they are, the transaction's isolation and when it began, and the language."""
    return select(
        *(func.current_setting(name).label(name) for name in SETTINGS),
        func.current_setting("transaction_isolation").label("isolation"),
        func.now(type_=DateTime(timezone=True)).label("began_at"),
        text_language(tables.schema).label("language"),
    )


@lru_cache
def build_settings() -> Select[Any]:
    """For the rest of the transaction: memory for a graph of `megabytes`, one worker, no hurry.

    Several workers would build a graph that finds several points less (pgvector, issue 1010).
    """
    asked: Any = bindparam("megabytes", type_=BigInteger())
    there = func.pg_size_bytes(func.current_setting(SETTINGS[0]))
    kilobytes = func.greatest(there / literal_column("1024"), asked * literal_column("1024"))
    values = (func.concat(kilobytes, "kB"), literal("0"), literal("0"))
    return select(
        *(func.set_config(name, value, True) for name, value in zip(SETTINGS, values, strict=True))
    )


@lru_cache
def restore_settings() -> Select[Any]:
    """SETTINGS as they were, given under their names."""
    return select(
        *(func.set_config(name, bindparam(name, type_=Text()), True) for name in SETTINGS)
    )


@lru_cache
def await_writers(tables: Tables) -> Select[Any]:
    """The moment, and whether all who had written by then are done within `seconds`."""
    now = (
        select(func.clock_timestamp(type_=DateTime(timezone=True)).label("built_at"))
        .cte("now")
        .prefix_with("MATERIALIZED")
    )
    waited = compiler.schema_function(
        tables.schema,
        "await_writers",
        cast(literal(full_name(tables.memories), Text()), REGCLASS),
        bindparam("seconds", type_=Double()),
        type_=Boolean(),
    )
    # The CASE needs the moment and so takes it before it waits.
    return select(now.c.built_at, case((now.c.built_at.is_not(None), waited)).label("all_done"))


@lru_cache
def newest(tables: Tables) -> Select[Any]:
    """The newest moment that the owner's memories know of, not after now; and how many they are."""
    memories, usage = tables.memories, tables.memory_usage
    moment = func.max(func.greatest(memories.c.created_at, usage.c.last_accessed_at))
    number: Any = func.count().label("memories")
    return (
        select(
            func.least(moment, func.now(), type_=DateTime(timezone=True)).label("as_of"),
            number,
        )
        .select_from(with_usage(memories, usage))
        .where(owned(memories), active(memories))
    )


@lru_cache
def guard_positions(tables: Tables) -> Select[Any]:
    """Gives the new `relation` of `owner_id` the grants and policies of the memories."""
    return select(
        compiler.schema_function(
            tables.schema,
            "guard_positions",
            bindparam("relation", type_=Text()),
            bindparam("owner_id", type_=Text()),
            type_=Text(),
        ).label("guarded")
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
    names = literal(f"pgrecall {what} {tables.schema} ", Text())
    owner_id: Any = bindparam("owner_id", type_=Text())
    key = func.hashtextextended(names + owner_id, literal_column("0::bigint"))
    return select(func.pg_advisory_xact_lock(key).label("locked"))
