"""Builds and maintains rank indexes, one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from pgrecall.core.steps import Ask, Job, Part, says_how_far
from pgrecall.core.validation import require_aware, require_callable, require_count
from pgrecall.errors import DatabaseConflict, InputError
from pgrecall.rank_index import building
from pgrecall.rank_index.index import AT_LEAST, EF_CONSTRUCTION, M, RankIndex, RankIndexStatus

PATIENCE = 60.0
"""Seconds that a build waits for transactions that were writing when it began."""
BATCH = 200
"""Memories that one transaction places in an index."""

Progress = Callable[[str, int, int], Any]
"""Called with the agent whose index is next, the number done, and the total."""


def build_rank_indexes(
    *,
    agent_id: str | UUID | None = None,
    at_least: int = AT_LEAST,
    m: int = M,
    ef_construction: int = EF_CONSTRUCTION,
    as_of: datetime | None = None,
    on_progress: Progress | None = None,
) -> Job[list[RankIndex]]:
    """Builds the rank index of one agent, or of all with at least `at_least` active memories.

    A new index is built from committed rows beside the old one and then replaces it. On an Engine
    this is one transaction per index; only deletions of the agent's memories wait, briefly, at its
    end. On your own Connection or Session they wait until you end the transaction.

    `at_least` is stored with the index: "auto" searches use it while it holds that many memories.
    `m` and `ef_construction` are those of HNSW; more than 250,000 memories have an `m` of 24 or
    more. `as_of` is the moment that decays are computed at; searches at an earlier one are exact.
    `on_progress(agent_id, done, total)` is called before each index and at the end.

    Raises InputError, and DatabaseConflict if a transaction that was writing memories does not end
    within a minute.
    """
    how = settings(at_least, m, ef_construction, as_of)
    require_callable("on_progress", on_progress)
    owners: list[str] = yield Part(partial(building.owners, at_least=at_least, agent_id=agent_id))
    return (yield from _built([(owner_id, "any", how) for owner_id in owners], on_progress))


def maintained(status: RankIndexStatus, how: building.Build, waited: datetime | None) -> Job[None]:
    """Does what is due for a rank index; `how` is for an agent without one. `waited` is the result
    of wait_for_writers."""
    index, owner_id = status.index, status.agent_id
    if index is None:
        yield from _built([(owner_id, "none", how)], None, waited)
    elif status.shrunk:
        yield Part(partial(building.drop, owner_id=owner_id))
    elif status.due:
        as_before = building.Build(index.at_least, index.m, index.ef_construction, None)
        yield from _built([(owner_id, index.built_at, as_before)], None, waited)
    else:
        yield Part(partial(building.log_usage, owner_id=owner_id))
        if status.beside and waited is not None:
            yield from _placed(index, waited)


def tidied() -> Job[None]:
    """Drops tables that no index uses, and gives the others their grants."""
    yield Part(building.drop_positions)
    yield Part(building.align_positions)


def _placed(index: RankIndex, until: datetime) -> Job[None]:
    """Places what was written or changed."""
    owner_id = index.agent_id
    ids: list[UUID] = yield Part(partial(building.memories_beside, owner_id=owner_id))
    for first in range(0, len(ids), BATCH):
        batch = ids[first : first + BATCH]
        yield Part(partial(building.place_memories, owner_id=owner_id, ids=batch))
    log_placed = partial(building.note_placed, built_at=index.built_at, until=until)
    yield Part(partial(log_placed, owner_id=owner_id))


def _wait(owner_id: str, written: str = "agent_memories") -> Part:
    return Part(
        partial(building.wait_for_writers, owner_id=owner_id, seconds=PATIENCE, written=written)
    )


def settings(
    at_least: int, m: int = M, ef_construction: int = EF_CONSTRUCTION, as_of: datetime | None = None
) -> building.Build:
    """The settings of a build; raises InputError."""
    require_count("at_least", at_least, at_least=1, at_most=2**31 - 1)
    require_count("m", m, at_least=2, at_most=100)
    require_count("ef_construction", ef_construction, at_least=4, at_most=1_000)
    if ef_construction < 2 * m:
        raise InputError(
            f"ef_construction must be at least twice m, got {ef_construction} for m = {m}"
        )
    require_aware("as_of", as_of)
    return building.Build(at_least, m, ef_construction, as_of)


_Due = tuple[str, building.Replaced, building.Build]
"""The owner, the index that is expected to be there, and the settings of the build."""


def _built(
    due: Sequence[_Due], on_progress: Progress | None, waited: datetime | None = None
) -> Job[list[RankIndex]]:
    built: list[RankIndex] = []
    with says_how_far(lambda: f"{len(built)} of {len(due)} rank indexes are built"):
        for done, (owner_id, expected, how) in enumerate(due):
            if on_progress is not None:
                yield Ask(on_progress, (owner_id, done, len(due)))
            built_at: datetime | None = waited or (yield _wait(owner_id))
            if built_at is None:
                raise DatabaseConflict(
                    f"a transaction that wrote memories has not ended within {PATIENCE:g} seconds: "
                    "end it and build again, so that the index misses none of them"
                )
            index: RankIndex | None = yield Part(
                partial(
                    building.build, owner_id=owner_id, how=how, built_at=built_at, expected=expected
                )
            )
            if index is not None:
                built.append(index)
                # Uses in flight were noted in the former index.
                yield _wait(owner_id, written="memory_usage")
                yield Part(partial(building.log_usage, owner_id=owner_id))
                yield Part(partial(building.drop_former_positions, owner_id=owner_id))
    if on_progress is not None:
        yield Ask(on_progress, ("", len(due), len(due)))
    return built
