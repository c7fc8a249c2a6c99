"""What the commands that change memories share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from uuid import UUID

import typer

from pgrecall.cli.database import repository
from pgrecall.cli.output import console, print_json
from pgrecall.errors import InputError
from pgrecall.memory import Memory
from pgrecall.quoting import shortened
from pgrecall.repository import MemoryRepository

OfTeam = Annotated[
    bool, typer.Option("--of-team", help="--agent names a team: work on its memories.")
]
MemoryId = Annotated[str, typer.Argument(help="The memory's id.", metavar="ID")]
MemoryIds = Annotated[list[str], typer.Argument(help="Ids of memories.", metavar="ID…")]
Reason = Annotated[str | None, typer.Option(help="Why; kept in the history.")]
Actor = Annotated[str | None, typer.Option(help="Who; kept in the history.")]


@contextmanager
def memories(url: str | None, schema: str, of_team: bool) -> Iterator[MemoryRepository]:
    """A repository of agents' memories, or of teams'."""
    with repository(url, schema) as repo:
        yield repo.teams if of_team else repo


def id_of(text: str) -> UUID:
    """Raises InputError."""
    try:
        return UUID(text)
    except ValueError:
        raise InputError(
            f"{shortened(text)} is not the id of a memory; search --json shows ids"
        ) from None


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
