"""Calls of the functions in `sql/rank_index`."""

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
    Text,
    Uuid,
    literal_column,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import NullType

from pgrecall.schema import Tables
from pgrecall.schema.verbs import columns_of, verb


def rank_index_states(tables: Tables) -> Executable:
    """The status of each index, of one `agent` or of all, and of owners that should have one."""
    arguments: dict[str, Any] = {"agent": Text(), "at_least": BigInteger(), "of_teams": Boolean()}
    arguments |= {"max_beside": BigInteger(), "max_age": Interval()}
    share = f'"{tables.schema}".rank_index_progress'
    progress = f"CASE WHEN (SELECT {share}()) IS NOT NULL THEN {share}(agent_id) END AS progress"
    columns = (*columns_of("rank_index_states").split(", "), progress)
    return verb(tables, "rank_index_states", arguments, tuple(map(literal_column, columns)))


def large_owners_statement(tables: Tables) -> Executable:
    """Owners of at least `at_least` active memories."""
    return verb(tables, "large_owners", {"at_least": BigInteger()})


def await_writers(tables: Tables) -> Executable:
    """Waits until all transactions that have written a table have ended; NULL after `seconds`."""
    arguments: dict[str, Any] = {"agent": Text(), "seconds": Double(), "written": Text()}
    return verb(tables, "await_writers", arguments)


def make_rank_index(tables: Tables) -> Executable:
    """Builds an index and puts it in use; returns its main table, NULL if nothing was built."""
    arguments: dict[str, Any] = {"agent": Text(), "built_at": DateTime(timezone=True)}
    arguments |= {"at_least": BigInteger(), "m": Integer(), "ef_construction": Integer()}
    arguments |= {"as_of": DateTime(timezone=True), "replaces": NullType()}  # may be -infinity
    return verb(tables, "make_rank_index", arguments)


def drop_rank_index_statement(tables: Tables) -> Executable:
    return verb(tables, "drop_rank_index", {"agent": Text()})


def drop_former_positions_statement(tables: Tables) -> Executable:
    """Drops the tables of positions that no rank index uses, where those of the agent are."""
    return verb(tables, "drop_former_positions", {"agent": Text()})


def on_every_node(tables: Tables) -> Executable:
    """Calls a `routine` that takes no arguments, on every node where there are several."""
    return verb(tables, "on_every_node", {"routine": Text()})


def note_use_statement(tables: Tables) -> Executable:
    """Copies positions of memories used since the build that are not yet among those used."""
    return verb(tables, "note_use", {"agent": Text()})


def memories_beside_statement(tables: Tables) -> Executable:
    """The memories that are scored beside an owner's index."""
    return verb(tables, "memories_beside", {"agent": Text()})


@lru_cache
def falls_short_statement(tables: Tables) -> Executable:
    """One row: `falls_short`, true if an index has too many writes since its build to be used."""
    moment = DateTime(timezone=True)
    arguments: dict[str, Any] = {"agent": Text(), "relation": Text(), "since": moment}
    falls_short = literal_column("beside_index IS NULL", Boolean()).label("falls_short")
    return verb(tables, "beside_index", arguments, (falls_short,))


def place_memories_statement(tables: Tables) -> Executable:
    """Places memories in their owner's index."""
    return verb(tables, "place_memories", {"agent": Text(), "ids": ARRAY(Uuid())})


def note_placed_statement(tables: Tables) -> Executable:
    """Notes until when all that was written is in the index that was built at a moment."""
    moment = DateTime(timezone=True)
    return verb(tables, "note_placed", {"agent": Text(), "built_at": moment, "until": moment})
