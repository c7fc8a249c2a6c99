"""pgrecall invalidate, revive, promote, demote, delete: what is done to several memories alike."""

from __future__ import annotations

from collections.abc import Callable

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.show import Actor, MemoryIds, OfTeam, Reason, id_of, memories, print_number
from pgrecall.execution import MemoryRepository
from pgrecall.schema import DEFAULT_SCHEMA

app = App()


def _command(
    name: str,
    method: Callable[[MemoryRepository], Callable[..., int]],
    done: str,
    help_: str,
    panel: str = "Correct",
) -> None:
    """A command that carries out such a method of the repository and says how many there were."""

    def command(
        memory: MemoryIds,
        agent: Agent,
        reason: Reason = None,
        actor: Actor = None,
        of_team: OfTeam = False,
        database_url: DatabaseUrl = None,
        schema: Schema = DEFAULT_SCHEMA,
        json: AsJson = False,
    ) -> None:
        with memories(database_url, schema, of_team) as repo:
            ids = [id_of(repo, agent, text) for text in memory]
            number = method(repo)(agent, ids, reason=reason, actor=actor)
        print_number(done, number, done, json=json)

    command.__doc__ = help_
    app.command(name, rich_help_panel=panel)(command)


_command(
    "invalidate",
    lambda repo: repo.invalidate,
    "invalidated",
    "Forget memories: they stay, but are not recalled from now on.",
)
_command(
    "revive",
    lambda repo: repo.revive,
    "revived",
    "Make memories recallable again that were forgotten, put away or have expired.",
)
_command(
    "promote",
    lambda repo: repo.upkeep.promote,
    "promoted",
    "Move memories one tier up: short, medium, long.",
)
_command(
    "demote",
    lambda repo: repo.upkeep.demote,
    "demoted",
    "Move memories one tier down: long, medium, short.",
)
_command(
    "delete",
    lambda repo: repo.delete,
    "deleted",
    "Delete memories; what happened to them stays in the history.",
    panel="Curate",
)
