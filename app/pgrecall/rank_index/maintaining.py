"""Building and maintaining rank indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pgrecall.core.steps import Call, Job, Transact
from pgrecall.core.validation import require_aware, require_callable, require_count
from pgrecall.errors import DatabaseConflict, InputError
from pgrecall.rank_index import building
from pgrecall.rank_index.index import AT_LEAST, EF_CONSTRUCTION, M, RankIndex, RankIndexStatus

PATIENCE = 60.0
"""Seconds to wait for transactions that were writing when a build began."""

Progress = Callable[[str, int, int], Any]
"""Called with the agent whose index is next, how many are done, and of how many."""


def build_rank_indexes(
    *,
    agent_id: str | None = None,
    at_least: int = AT_LEAST,
    m: int = M,
    ef_construction: int = EF_CONSTRUCTION,
    as_of: datetime | None = None,
    on_progress: Progress | None = None,
) -> Job[list[RankIndex]]:
    """Builds the rank index of one agent, or of every agent of at least `at_least` active memories.

    Each is built beside the one there is, from what is committed, and then takes its place. On an
    Engine that is a transaction of its own: nobody waits for it but deletions of the agent's
    memories, at its end and shortly. On a Connection or Session of the caller's it keeps its locks
    until the caller ends the transaction: who deletes memories of the agent waits so long, and who
    searches in the index that was replaced. `at_least` is kept with the index: searches use it if
    it holds so many memories, or if they are told to. `m` and
    `ef_construction` are those of HNSW: more finds more and takes longer to build. `as_of` is
    the moment that decays are taken at, by default the newest that the memories know of;
    questions about earlier ones are ranked exactly. `on_progress(agent_id, done, total)` is called
    before each and at the end.

    Raises InputError, and DatabaseConflict when a transaction that was writing memories does not
    end within a minute.
    """
    how = _how(at_least, m, ef_construction, as_of)
    require_callable("on_progress", on_progress)
    owners: list[str] = yield Transact(
        partial(building.owners, at_least=at_least, agent_id=agent_id)
    )
    return (yield from _built([(owner_id, "any", how) for owner_id in owners], on_progress))


def maintain_rank_indexes(
    *,
    agent_id: str | None = None,
    at_least: int = AT_LEAST,
    m: int = M,
    ef_construction: int = EF_CONSTRUCTION,
    on_progress: Progress | None = None,
) -> Job[list[RankIndex]]:
    """Builds anew every rank index that is due, and those of agents that have grown large.

    Of all agents, or of one.

    `rank_indexes` says which are due and why. Searches go on in the old one until the new one is
    there, which is built as the old one was; `at_least`, `m` and `ef_construction` are for those
    that have none. Indexes of agents that no longer have half as many memories as theirs is
    for, or as it holds, are dropped. Raises as `build_rank_indexes` does.
    """
    how = _how(at_least, m, ef_construction, None)
    require_callable("on_progress", on_progress)
    known: list[RankIndexStatus] = yield Transact(
        partial(building.rank_indexes, agent_id=agent_id, at_least=at_least)
    )
    due: list[_Due] = []
    for status in known:
        index, owner_id = status.index, status.agent_id
        if index is None:
            due.append((owner_id, "none", how))
        elif status.shrunk:
            yield Transact(partial(building.drop_rank_index, agent_id=owner_id))
        elif status.due:
            as_before = building.Build(index.at_least, index.m, index.ef_construction, None)
            due.append((owner_id, index.built_at, as_before))
    built = yield from _built(due, on_progress)
    yield Transact(building.drop_positions)
    yield Transact(building.align_positions)
    return built


def _how(at_least: int, m: int, ef_construction: int, as_of: datetime | None) -> building.Build:
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
"""Whose index is to be built, which one is expected to be there, and how."""


def _built(due: Sequence[_Due], on_progress: Progress | None) -> Job[list[RankIndex]]:
    built = []
    for done, (owner_id, expected, how) in enumerate(due):
        if on_progress is not None:
            yield Call(on_progress, (owner_id, done, len(due)))
        built_at: datetime | None = yield Transact(
            partial(building.writers_are_done, seconds=PATIENCE)
        )
        if built_at is None:
            raise DatabaseConflict(
                f"a transaction that wrote memories has not ended within {PATIENCE:g} seconds: "
                "end it and build again, so that what it wrote is not missed"
            )
        index, former = yield Transact(
            partial(
                building.build, owner_id=owner_id, how=how, built_at=built_at, expected=expected
            )
        )
        if former is not None:
            yield Transact(partial(building.drop_positions, relation=former))
        if index is not None:
            built.append(index)
    if on_progress is not None:
        yield Call(on_progress, ("", len(due), len(due)))
    return built
