"""What the commands that change memories share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any
from uuid import UUID

import typer

from pgrecall.cli.database import repository
from pgrecall.cli.output import console, print_json
from pgrecall.core.memory import Memory
from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.execution import MemoryRepository

OfTeam = Annotated[
    bool, typer.Option("--of-team", help="--agent names a team: work on its memories.")
]
_OR_DIGITS = "or first digits that no other has"
MemoryId = Annotated[str, typer.Argument(help=f"The memory's id, {_OR_DIGITS}.", metavar="ID")]
MemoryIds = Annotated[
    list[str], typer.Argument(help=f"Ids of memories, {_OR_DIGITS}.", metavar="ID…")
]
Source = Annotated[str, typer.Argument(help="The memory it starts from.", metavar="SOURCE")]
Target = Annotated[str, typer.Argument(help="The memory it leads to.", metavar="TARGET")]
Reason = Annotated[str | None, typer.Option(help="Why; kept in the history.")]
Actor = Annotated[str | None, typer.Option(help="Who; kept in the history.")]

CANDIDATES = 5
"""Shown, where the beginning of an id is that of several."""


@contextmanager
def memories(url: str | None, schema: str, of_team: bool) -> Iterator[MemoryRepository]:
    """A repository of agents' memories, or of teams'."""
    with repository(url, schema) as repo:
        yield repo.teams if of_team else repo


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
        raise InputError(f"{shortened(text)} begins more than one id: {candidates}{more}")
    return first


def short_ids(
    repo: MemoryRepository, agent: str, ids: Iterable[UUID], teams: Sequence[str] = ()
) -> dict[UUID, str]:
    """As `id_of` takes them for the agent and these teams."""
    found = list(ids)
    several = [repo.ids.shorten(agent, found), *(repo.teams.ids.shorten(t, found) for t in teams)]
    return {id_: max((each[id_] for each in several), key=len) for id_ in found}


def print_changed(memory: Memory, *fields: str, json: bool) -> None:
    """A memory's id and the fields that a command is about."""
    values: dict[str, Any] = {"id": str(memory.id)}
    values |= {name: getattr(memory, name) for name in fields}
    if json:
        print_json(values)
    else:
        said = ", ".join(f"{name} {_shown(values[name])}" for name in fields)
        console.print(f"{memory.id}: {said}", highlight=False, markup=False)


def print_number(name: str, number: int, said: str, *, json: bool) -> None:
    """How many memories a command concerned."""
    if json:
        print_json({name: number})
    else:
        console.print(f"{number:,} {said}", highlight=False, markup=False)


def _shown(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
