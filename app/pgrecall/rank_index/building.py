"""Rank indexes: building one, replacing it, saying what there is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pgrecall.core.steps import Execute, Operation, Verb
from pgrecall.core.validation import require_count
from pgrecall.errors import InputError
from pgrecall.rank_index import index
from pgrecall.rank_index.calls import (
    align_positions_statement,
    await_writers,
    drop_positions_statement,
    drop_rank_index_statement,
    hurry_again,
    make_rank_index,
    rank_index_progress_statement,
    rank_index_states,
    take_time,
)
from pgrecall.rank_index.index import AT_LEAST, RankIndex, RankIndexStatus
from pgrecall.rank_index.owners import large_owners, sample
from pgrecall.rank_index.strategy import index_of, with_index
from pgrecall.ranking.known_owners import known_owners
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner


@dataclass(frozen=True, slots=True)
class Build:
    """How an index is to be built."""

    at_least: int
    m: int
    ef_construction: int
    as_of: datetime | None


Replaced = datetime | Literal["none", "any"]
"""Which index is expected to be there when a new one is built: that of this moment, none, any."""


def rank_indexes(
    tables: Tables, /, *, agent_id: str | None = None, at_least: int = AT_LEAST
) -> Operation[list[RankIndexStatus]]:
    """The rank indexes there are, and those that are due: of one agent, or of all, by name.

    Each says what has been written, changed and used since it was built, and by `due` why
    maintenance is wanted, if it is. An agent of at least `at_least` active memories without one is
    listed as due; other agents without one are not listed. Raises InputError.
    """
    require_count("at_least", at_least, at_least=1, at_most=2**31 - 1)
    rows = yield Verb(
        rank_index_states(tables),
        {
            "agent": None if agent_id is None else require_owner(tables, agent_id),
            "at_least": at_least,
            "of_teams": bool(tables.prefix),
            "max_beside": index.MAX_BESIDE,
            "max_age": index.MAX_AGE,
        },
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


_STATE = ("written", "changed", "used", "bytes", "due", "shrunk")


def rank_index_progress(tables: Tables, /) -> Operation[float | None]:
    """How far the server is with the graph of a rank index, 0 to 1; None when it builds none."""
    [row] = yield Verb(rank_index_progress_statement(tables))
    share: float | None = row.rank_index_progress
    return share


def drop_rank_index(tables: Tables, /, agent_id: str) -> Operation[bool]:
    """Drops an agent's rank index: its searches are exact from then on. False without one."""
    agent_id = require_owner(tables, agent_id)
    [row] = yield Execute(drop_rank_index_statement(tables), {"agent": agent_id})
    yield known_owners(tables, [agent_id], anew=True)
    dropped: bool = row.drop_rank_index
    return dropped


def drop_positions(tables: Tables, relation: str | None = None) -> Operation[None]:
    """Drops a table of positions, or all, if no index uses it; what is read stays for next time."""
    yield Verb(drop_positions_statement(tables), {"relation": relation})


def align_positions(tables: Tables) -> Operation[None]:
    yield Verb(align_positions_statement(tables))


def owners(tables: Tables, at_least: int, agent_id: str | None = None) -> Operation[list[str]]:
    """Who has at least so many active memories, in order; or the one that is named.

    Raises InputError.
    """
    if agent_id is not None:
        return [require_owner(tables, agent_id)]
    rows = yield Execute(large_owners(tables), {"at_least": at_least})
    return [row.owner_id for row in rows]


def writers_are_done(tables: Tables, seconds: float) -> Operation[datetime | None]:
    """Waits for all who have written by now; the moment, or None if some take longer."""
    [before] = yield Execute(take_time())
    [row] = yield Execute(await_writers(tables), {"seconds": seconds})
    yield Execute(hurry_again(), {"timeout": before.timeout})
    moment: datetime | None = row.await_writers
    return moment


def build(
    tables: Tables,
    owner_id: str,
    how: Build,
    built_at: datetime,
    *,
    expected: Replaced = "any",
) -> Operation[tuple[RankIndex | None, str | None]]:
    """Builds the owner's index and takes it into use, all or nothing.

    Returns it and the table it replaces. Nothing is built where no memory is active, or where the
    one there is not the expected one: another client was faster.
    """
    [before] = yield Execute(take_time())
    if before.isolation != "read committed" and before.began_at < built_at:
        yield Execute(hurry_again(), {"timeout": before.timeout})
        raise InputError(
            f"an index cannot be built in a {before.isolation.upper()} transaction that is "
            "under way, which does not see what others write; use READ COMMITTED, or an Engine"
        )
    replaces: dict[Any, str | None] = {"none": "-infinity", "any": None}
    made = yield Execute(
        make_rank_index(tables),
        {
            "agent": owner_id,
            "built_at": built_at,
            "at_least": how.at_least,
            "m": how.m,
            "ef_construction": how.ef_construction,
            "as_of": how.as_of,
            "replaces": replaces.get(expected, expected),
        },
    )
    yield Execute(hurry_again(), {"timeout": before.timeout})
    if not made:
        return None, None
    [row] = with_index((yield known_owners(tables, [owner_id], anew=True)))
    return index_of(row), made[0].former


def sampled(tables: Tables, owner_id: str, number: int) -> Operation[list[list[float]]]:
    """Embeddings of memories drawn at random, the same each time."""
    rows = yield Execute(sample(tables), {"owner_id": owner_id, "number": number})
    return [row.embedding for row in rows]
