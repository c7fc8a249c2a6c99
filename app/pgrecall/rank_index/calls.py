"""Calls of the functions in `sql/rank_index` that make them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Double,
    Executable,
    Integer,
    Interval,
    Select,
    Text,
    bindparam,
    func,
    literal,
    select,
)
from sqlalchemy.types import NullType

from pgrecall.schema import Tables
from pgrecall.schema.verbs import verb


def rank_index_states(tables: Tables) -> Executable:
    """How each stands, of one `agent` or of all; and owners that have none and are due."""
    arguments: dict[str, Any] = {"agent": Text(), "at_least": BigInteger(), "of_teams": Boolean()}
    arguments |= {"max_beside": BigInteger(), "max_age": Interval()}
    return verb(tables, "rank_index_states", arguments)


@lru_cache
def take_time() -> Select[Any]:
    """No `statement_timeout` for the rest of the transaction; what it was, and the isolation."""
    timeout = literal("statement_timeout", Text())
    return select(
        func.current_setting(timeout).label("timeout"),
        func.set_config(timeout, "0", True),
        func.current_setting("transaction_isolation").label("isolation"),
        func.now(type_=DateTime(timezone=True)).label("began_at"),
    )


@lru_cache
def hurry_again() -> Select[Any]:
    return select(func.set_config("statement_timeout", bindparam("timeout", type_=Text()), True))


def await_writers(tables: Tables) -> Executable:
    """The moment, once all who had written by then are done; NULL after so many `seconds`."""
    return verb(tables, "await_writers", {"seconds": Double()})


def make_rank_index(tables: Tables) -> Executable:
    """Builds it and takes it into use; returns its `relation` and the `former` one."""
    arguments: dict[str, Any] = {"agent": Text(), "built_at": DateTime(timezone=True)}
    arguments |= {"at_least": BigInteger(), "m": Integer(), "ef_construction": Integer()}
    arguments |= {"as_of": DateTime(timezone=True), "replaces": NullType()}  # may be -infinity
    return verb(tables, "make_rank_index", arguments)


def drop_rank_index_statement(tables: Tables) -> Executable:
    return verb(tables, "drop_rank_index", {"agent": Text()})


def drop_positions_statement(tables: Tables) -> Executable:
    """Drops the table `relation`, or with NULL all, where no rank index uses it."""
    return verb(tables, "drop_positions", {"relation": Text()})


def align_positions_statement(tables: Tables) -> Executable:
    """Gives all tables of positions the grants and the protection there are now."""
    return verb(tables, "align_positions", {})


def rank_index_progress_statement(tables: Tables) -> Executable:
    return verb(tables, "rank_index_progress", {})
