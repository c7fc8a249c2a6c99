"""Ids of memories, given and shown by their first digits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated
from uuid import UUID

from pgrecall.cli.written import argument
from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.execution import MemoryRepository

_OR_DIGITS = "or enough of its first digits"
MemoryId = Annotated[UUID, argument(f"Id of the memory, {_OR_DIGITS}.", metavar="ID")]
_Ids = argument(f"Ids of memories, each whole {_OR_DIGITS}.", metavar="ID…")
MemoryIds = Annotated[list[UUID], _Ids]
OptionalIds = Annotated[list[UUID] | None, _Ids]

CANDIDATES = 5
"""Shown, where the beginning of an id is that of several."""


def id_of(repo: MemoryRepository, agent: str, text: str, teams: Sequence[str] = ()) -> UUID:
    """The id that is given whole, or by first digits that one memory of the agent or teams has.

    Raises InputError for what is no id or that of several, MemoryNotFound for that of none.
    """
    with suppress(ValueError):
        return UUID(text)
    found = set(repo.ids.find(agent, text, limit=CANDIDATES + 1))
    for team in teams:
        found.update(repo.teams.ids.find(team, text, limit=CANDIDATES + 1))
    if not found:
        raise MemoryNotFound(
            f"agent {shortened(agent)} has no memory whose id begins with {shortened(text)}"
        )
    [first, *others] = sorted(found)
    if others:
        candidates = ", ".join(map(str, [first, *others][:CANDIDATES]))
        more = " and others" if len(found) > CANDIDATES else ""
        raise InputError(
            f"several ids begin with {shortened(text)}: {candidates}{more}; give more digits"
        )
    return first


def short_ids(
    repo: MemoryRepository, agent: str, ids: Iterable[UUID], teams: Sequence[str | UUID] = ()
) -> dict[UUID, str]:
    """As `id_of` takes them for the agent and these teams."""
    found = list(ids)
    several = [repo.ids.shorten(agent, found), *(repo.teams.ids.shorten(t, found) for t in teams)]
    return {id_: max((each[id_] for each in several), key=len) for id_ in found}
