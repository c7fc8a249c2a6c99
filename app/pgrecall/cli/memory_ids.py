"""Ids of memories as commands show them: their first digits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from pgrecall.core.steps import READS, Operation, needs
from pgrecall.execution import MemoryRepository
from pgrecall.execution.method import method
from pgrecall.execution.namespace import Namespace, R_co
from pgrecall.ranking.composing import reads
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner

FEWEST_SHOWN = 8
"""Hexadecimal digits of an id that are shown at least."""


def short_ids(
    repo: MemoryRepository, agent: str, ids: Iterable[UUID], teams: Sequence[str | UUID] = ()
) -> dict[UUID, str]:
    """The shortest beginning of each id that no other memory of the agent and teams has.

    Ids made at about the same time begin alike, so their beginnings are longer.
    """
    several = [*ids]
    shortened = [
        _Shortening(repo).shorten(agent, several),
        *(_Shortening(repo.teams).shorten(team, several) for team in teams),
    ]
    return {id_: max((each[id_] for each in shortened), key=len) for id_ in several}


@needs(READS)
def _shorten(
    tables: Tables, /, agent_id: str | UUID, ids: Sequence[UUID]
) -> Operation[dict[UUID, str]]:
    owner_id = require_owner(tables, agent_id)
    rows = yield reads(tables, "ids_beside", owner_id=owner_id, ids=ids)
    return {row.id: _shortest(row.id, (row.before, row.after)) for row in rows}


class _Shortening(Namespace[R_co]):
    shorten = method(lambda: _shorten)


def _shortest(id_: UUID, neighbours: Sequence[UUID | None]) -> str:
    """The shortest beginning that differs from the neighbouring ids, which are the most similar."""
    shared = [(128 - (id_.int ^ other.int).bit_length()) // 4 for other in neighbours if other]
    digits = max(FEWEST_SHOWN, 1 + max(shared, default=0))
    hyphens = sum(digits > place for place in (8, 12, 16, 20))
    return str(id_)[: digits + hyphens]
