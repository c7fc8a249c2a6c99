"""Rank indexes: building one, replacing it, telling what there is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from itertools import cycle
from typing import Any, Literal

from pgrecall import statements
from pgrecall.errors import InputError
from pgrecall.operations.candidates import direction, index_of, look_up
from pgrecall.profiles import BUILT_IN
from pgrecall.rank_index import (
    AT_LEAST,
    COMMON,
    FOUND,
    HITS,
    LEVELS,
    SAMPLE,
    WORST,
    RankIndex,
    RankIndexStatus,
)
from pgrecall.rank_space import AXES, VERSION, is_hard
from pgrecall.schema import Layout, Tables
from pgrecall.steps import Execute, Inspect, Operation
from pgrecall.validation import require_count, require_owner

MAX_MEGABYTES = 1_024
"""Of memory that a build asks the server for at most."""


TOLD = ("written", "changed", "used", "at", "has_words")
"""What the database tells of an index beside its size."""


@dataclass(frozen=True, slots=True)
class Build:
    """How an index is to be built."""

    at_least: int
    m: int
    ef_construction: int
    as_of: datetime | None


def rank_indexes(
    tables: Tables, /, *, agent_id: str | None = None, at_least: int = AT_LEAST
) -> Operation[list[RankIndexStatus]]:
    """The rank indexes there are, and those that are due: of one agent, or of all, by name.

    Each tells what has been written, changed and used since it was built, and by `due` why
    maintenance is wanted, if it is. An agent of at least `at_least` active memories without one is
    listed as due; other agents without one are not listed. Raises InputError.
    """
    require_count("at_least", at_least, at_least=1, at_most=2**31 - 1)
    if agent_id is None:
        rows = yield Execute(statements.all_rank_indexes(tables))
    else:
        agent_id = require_owner(tables, agent_id)
        rows = yield Execute(statements.rank_indexes(tables), {"owners": [agent_id]})
    known = {row.agent_id: index_of(row) for row in rows}
    found = []
    for index in known.values():
        [since] = yield Execute(
            statements.since_built(tables),
            {
                "owner_id": index.agent_id,
                "built_at": index.built_at,
                "as_of": min(index.as_of, index.built_at),
                "relation": index.relation,
            },
        )
        numbers = {name: getattr(since, name) for name in TOLD}
        found.append(RankIndexStatus(index.agent_id, index, bytes=since.bytes or 0, **numbers))
    for owner_id in (yield from owners(tables, at_least, agent_id)):
        if owner_id in known:
            continue
        [row] = yield Execute(
            statements.count_up_to(tables), {"owner_id": owner_id, "most": 2**31 - 1}
        )
        if row.memories >= at_least:
            found.append(
                RankIndexStatus(owner_id, None, 0, 0, 0, bytes=0, at=row.at, memories=row.memories)
            )
    return sorted(found, key=lambda status: status.agent_id)


def rank_index_progress(tables: Tables, /) -> Operation[float | None]:
    """How far the server is with the graph of a rank index, 0 to 1; None when it builds none."""
    [row] = yield Execute(statements.build_progress(tables))
    share: float | None = row.share
    return share


def drop_rank_index(tables: Tables, /, agent_id: str) -> Operation[bool]:
    """Drops an agent's rank index: its searches are exact from then on. False without one."""
    agent_id = require_owner(tables, agent_id)
    rows = yield Execute(statements.forget_rank_index(tables), {"owner_id": agent_id})
    for row in rows:
        yield from drop_relation(tables, row.relation)
    yield look_up(tables, [agent_id], anew=True)
    return bool(rows)


def drop_relation(tables: Tables, relation: str) -> Operation[bool]:
    """Drops a table of positions; False where it is still read and stays for the next time."""
    [row] = yield Execute(statements.drop_positions(tables), {"relation": relation})
    dropped: bool = row.dropped
    return dropped


def unused_relations(tables: Tables) -> Operation[list[str]]:
    rows = yield Execute(statements.unused_relations(tables))
    return [row.relation for row in rows]


def owners(tables: Tables, at_least: int, agent_id: str | None = None) -> Operation[list[str]]:
    """Who has at least so many active memories, in order; or the one that is named.

    Raises InputError.
    """
    if agent_id is not None:
        return [require_owner(tables, agent_id)]
    rows = yield Execute(statements.large_owners(tables), {"at_least": at_least})
    return [row.owner_id for row in rows]


def has_shrunk(tables: Tables, index: RankIndex) -> Operation[bool]:
    """Whether the owner has less than half as many active memories as the index is for, or has."""
    half = min(index.at_least, index.memories) // 2
    [row] = yield Execute(
        statements.count_up_to(tables), {"owner_id": index.agent_id, "most": half}
    )
    fewer: bool = row.memories < half
    return fewer


def writers_are_done(tables: Tables, seconds: float) -> Operation[datetime | None]:
    """Waits for all who have written by now; the moment, or None if some take longer."""
    [former] = yield Execute(statements.settings(tables))
    yield Execute(statements.build_settings(), {"megabytes": 0})
    [row] = yield Execute(statements.await_writers(tables), {"seconds": seconds})
    yield from _as_before(former)
    return row.built_at if row.all_done else None


def build(
    tables: Tables,
    owner_id: str,
    how: Build,
    built_at: datetime,
    *,
    expected: datetime | Literal["none", "any"] = "any",
) -> Operation[tuple[RankIndex | None, str | None]]:
    """Builds the owner's index in a table of its own and takes it into use, all or nothing.

    Returns it and the table it replaces. Nothing is built where no memory is active, or where the
    one there is not the expected one, of that moment or none: another client was faster.
    """
    start = time.monotonic()
    [settings] = yield Execute(statements.settings(tables))
    if settings.isolation != "read committed" and settings.began_at < built_at:
        raise InputError(
            f"an index cannot be built in a {settings.isolation.upper()} transaction that is "
            "under way, which does not see what others write; use READ COMMITTED, or an Engine"
        )
    layout: Layout = yield Inspect()
    yield Execute(statements.build_settings(), {"megabytes": 0})
    yield Execute(statements.lock_build(tables), {"owner_id": owner_id})
    former: RankIndex | None = None
    for row in (yield look_up(tables, [owner_id], anew=True)):
        former = index_of(row)
    if expected not in ("any", "none" if former is None else former.built_at):
        yield from _as_before(settings)
        return None, None
    [there] = yield Execute(statements.newest(tables), {"owner_id": owner_id})
    if not there.memories:
        yield from _as_before(settings)
        return None, None
    relation = statements.relation_name()
    positions = statements.positions_table(tables, layout, relation)
    yield Execute(
        statements.build_settings(), {"megabytes": _megabytes(layout, there.memories, how.m)}
    )
    for statement in statements.create_positions(positions):
        yield Execute(statement)
    yield Execute(statements.guard_positions(tables), {"relation": relation, "owner_id": owner_id})
    as_of = how.as_of or min(there.as_of or built_at, built_at)
    yield Execute(
        statements.fill_positions(tables, layout, positions),
        {"owner_id": owner_id, "as_of": as_of},
    )
    for statement in statements.index_positions(
        layout, positions, m=how.m, ef_construction=how.ef_construction
    ):
        yield Execute(statement)
    candidates, likeness = yield from _calibrated(tables, layout, owner_id, relation)
    [words] = yield Execute(
        statements.common_terms(tables), {"owner_id": owner_id, "at_least": COMMON}
    )
    yield Execute(statements.lock_deletes(tables), {"owner_id": owner_id})
    yield Execute(statements.delete_gone(tables, positions), {"owner_id": owner_id})
    index = RankIndex(
        agent_id=owner_id,
        relation=relation,
        space=VERSION,
        as_of=as_of,
        built_at=built_at,
        memories=there.memories,
        at_least=how.at_least,
        m=how.m,
        ef_construction=how.ef_construction,
        seconds=time.monotonic() - start,
        candidates=candidates,
    )
    its: dict[str, Any] = {f"its_{name}": getattr(index, name) for name in statements.FIELDS}
    its |= {"its_term_memories": words.memories, "its_common_terms": words.terms}
    its |= {"its_language": settings.language, "its_likeness": likeness}
    yield Execute(statements.note_rank_index(tables), {"owner_id": owner_id, **its})
    yield look_up(tables, [owner_id], anew=True)
    yield from _as_before(settings)
    return index, former.relation if former else None


def _calibrated(
    tables: Tables, layout: Layout, owner_id: str, relation: str
) -> Operation[tuple[int, float | None]]:
    """How many candidates do, for questions like the owner's own memories by several profiles; and
    how like such a question the likest that a walk meets usually is."""
    among = [profile for profile in BUILT_IN.values() if not is_hard(profile)]
    queries = yield from sampled(tables, owner_id, SAMPLE)
    if not queries:
        return LEVELS[0], None
    [row] = yield Execute(
        statements.calibrated(tables),
        {
            "relation": relation,
            "directions": [
                direction(profile, layout.vector(query), 0.0, layout)
                for query, profile in zip(queries, cycle(among), strict=False)
            ],
            "hits": HITS,
            "levels": list(LEVELS),
            "recall": FOUND,
            "worst": WORST,
        },
    )
    return row.candidates, row.likeness


def sampled(tables: Tables, owner_id: str, number: int) -> Operation[list[list[float]]]:
    """Embeddings of memories drawn at random, the same each time."""
    rows = yield Execute(statements.sample(tables), {"owner_id": owner_id, "number": number})
    return [row.embedding for row in rows]


def _as_before(former: Any) -> Operation[None]:
    names = statements.SETTINGS
    yield Execute(statements.restore_settings(), {name: getattr(former, name) for name in names})


def _megabytes(layout: Layout, memories: int, m: int) -> int:
    """What the graph takes while it is built: beyond that, pgvector goes on many times slower."""
    each = 2 * (layout.dimensions + len(AXES) + 1) + 2 * m * 16 + 256
    return min(64 + memories * each * 3 // 2 // 2**20, MAX_MEGABYTES)
