"""Builds, replaces, drops and lists rank indexes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pgrecall.core.steps import VERB, Operation, needs
from pgrecall.core.validation import require_count
from pgrecall.errors import InputError
from pgrecall.rank_index import index
from pgrecall.rank_index.index import AT_LEAST, RankIndex, RankIndexStatus
from pgrecall.rank_index.strategy import index_of, with_index
from pgrecall.ranking.owner_facts import owner_facts
from pgrecall.schema import TEAM, Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call, columns_of, lift_limits


@dataclass(frozen=True, slots=True)
class Build:
    """The settings of a build."""

    at_least: int
    m: int
    ef_construction: int
    as_of: datetime | None


Replaced = datetime | Literal["none", "any"]
"""The index that a build expects to replace: the one built at this moment, none, or any."""


@needs(VERB)
def rank_indexes(
    tables: Tables, /, *, agent_id: str | UUID | None = None, at_least: int = AT_LEAST
) -> Operation[list[RankIndexStatus]]:
    """The rank indexes of one agent or of all, ordered by agent, and those that should be built.

    Each status says what was written, changed and used since the build, in `due` why maintenance
    is needed, if it is, and in `progress` how far a build is that is under way. An agent without an
    index is listed, as due, if it has at least `at_least` active memories. Raises InputError.
    """
    require_count("at_least", at_least, at_least=1, at_most=2**31 - 1)
    owner_id = None if agent_id is None else require_owner(tables, agent_id)
    return (yield from states(tables, owner_id, at_least))


@needs(VERB)
def states(tables: Tables, owner_id: str | None, at_least: int) -> Operation[list[RankIndexStatus]]:
    """The same for an owner, or for all agents or all teams."""
    share = f'"{tables.schema}".rank_index_progress'
    progress = f"CASE WHEN (SELECT {share}()) IS NOT NULL THEN {share}(agent_id) END AS progress"
    rows = yield call(
        tables,
        "rank_index_states",
        f"{columns_of('rank_index_states')}, {progress}",
        agent=owner_id,
        at_least=at_least,
        of_teams=bool(tables.prefix) if owner_id is None else None,
        max_beside=index.MAX_BESIDE,
        max_age=index.MAX_AGE,
    )
    return [
        RankIndexStatus(
            row.agent_id,
            None if row.relation is None else index_of(row, at_least=row.used_at_least),
            memories=row.memories if row.relation is None else None,
            **{name: getattr(row, name) for name in _STATE},
        )
        for row in rows
    ]


_STATE = ("written", "changed", "used", "bytes", "due", "shrunk", "progress")


def drop_rank_index(tables: Tables, /, agent_id: str | UUID) -> Operation[bool]:
    """Drops an agent's rank index, so its searches become exact. False if there is no index."""
    return (yield from drop(tables, require_owner(tables, agent_id)))


def drop(tables: Tables, owner_id: str) -> Operation[bool]:
    """Drops an owner's rank index."""
    [row] = yield call(tables, "drop_rank_index", agent=owner_id)
    yield owner_facts(tables, [owner_id], anew=True)
    dropped: bool = row.drop_rank_index
    return dropped


@needs(VERB)
def drop_positions(tables: Tables) -> Operation[None]:
    """Drops all tables of positions that no index uses and no session reads."""
    yield call(tables, "on_every_node", routine="drop_positions")


@needs(VERB)
def drop_former_positions(tables: Tables, owner_id: str) -> Operation[None]:
    """Drops the tables of the owner's former index, unless a session reads them."""
    yield call(tables, "drop_former_positions", agent=owner_id)


@needs(VERB)
def log_usage(tables: Tables, owner_id: str) -> Operation[None]:
    """Notes in the owner's index what was used since its build and is not noted there."""
    yield call(tables, "log_usage", agent=owner_id)


@needs(VERB)
def memories_beside(tables: Tables, owner_id: str) -> Operation[list[UUID]]:
    """The memories that searches score beside the owner's index, in the order of a hash."""
    [row] = yield call(tables, "memories_beside", agent=owner_id)
    ids: list[UUID] = row.memories_beside
    return ids


@needs(VERB)
def place_memories(tables: Tables, owner_id: str, ids: Sequence[UUID]) -> Operation[None]:
    """Places memories in the owner's index, as they are now."""
    yield call(tables, "place_memories", agent=owner_id, ids=list(ids))


@needs(VERB)
def note_placed(
    tables: Tables, owner_id: str, built_at: datetime, until: datetime
) -> Operation[None]:
    """Notes that what was written or changed `until` then is in the index built at this moment."""
    yield call(tables, "note_placed", agent=owner_id, built_at=built_at, until=until)
    yield owner_facts(tables, [owner_id], anew=True)


@needs(VERB)
def align_positions(tables: Tables) -> Operation[None]:
    """Gives all tables of positions the present grants and row-level security."""
    yield call(tables, "on_every_node", routine="align_positions")


def owners(
    tables: Tables, at_least: int, agent_id: str | UUID | None = None
) -> Operation[list[str]]:
    """Owners of at least `at_least` active memories, ordered by id; or only `agent_id` if given.

    Raises InputError.
    """
    if agent_id is not None:
        return [require_owner(tables, agent_id)]
    rows = yield call(tables, "large_owners", at_least=at_least)
    of_teams = bool(tables.prefix)
    return sorted(row.agent_id for row in rows if row.agent_id.startswith(TEAM) == of_teams)


def wait_for_writers(
    tables: Tables, owner_id: str, seconds: float, written: str = "agent_memories"
) -> Operation[datetime | None]:
    """Waits up to `seconds` until all transactions that have written this table have ended.

    Returns the moment at which the wait began, or None if it timed out.
    """
    [before] = yield lift_limits(tables)
    [row] = yield call(tables, "await_writers", agent=owner_id, seconds=seconds, written=written)
    yield call(tables, "restore_limits", limits=before.limits)
    moment: datetime | None = row.await_writers
    return moment


def build(
    tables: Tables,
    owner_id: str,
    how: Build,
    built_at: datetime,
    *,
    expected: Replaced = "any",
) -> Operation[RankIndex | None]:
    """Builds the owner's index and replaces the old one, atomically.

    Nothing is built if the owner has no active memory, or if the present index is not the expected
    one because another client was faster.
    """
    [before] = yield lift_limits(tables)
    if before.isolation != "read committed" and before.began_at < built_at:
        yield call(tables, "restore_limits", limits=before.limits)
        raise InputError(
            f"an index cannot be built in a {before.isolation.upper()} transaction that is "
            "under way, which does not see the writes of others; use READ COMMITTED, or an Engine"
        )
    replaces: dict[Any, str | None] = {"none": "-infinity", "any": None}
    [made] = yield call(
        tables,
        "make_rank_index",
        agent=owner_id,
        built_at=built_at,
        at_least=how.at_least,
        m=how.m,
        ef_construction=how.ef_construction,
        as_of=how.as_of,
        replaces=replaces.get(expected, expected),
    )
    yield call(tables, "restore_limits", limits=before.limits)
    if made.make_rank_index is None:
        return None
    [row] = with_index((yield owner_facts(tables, [owner_id], anew=True)))
    return index_of(row)
