"""pgrecall supersede, importance"""

from __future__ import annotations

from typing import Annotated

import typer

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.output import console, print_json
from pgrecall.cli.show import Actor, MemoryId, OfTeam, Reason, id_of, memories, print_changed
from pgrecall.cli.times import When, moment
from pgrecall.core.memory import NewMemory
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Correct")


@app.command()
def supersede(
    memory: MemoryId,
    text: Annotated[str, typer.Argument(help="What holds instead.")],
    agent: Agent,
    importance: Annotated[float, typer.Option(help="0 to 1; at least that of the old.")] = 0.5,
    memory_type: Annotated[str, typer.Option("--type", help="Its kind.")] = "episodic",
    valid_from: When = None,
    force: Annotated[bool, typer.Option(help="Even if the two overlap in time.")] = False,
    reason: Reason = None,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Store what holds instead of a memory; the old one stays but is not recalled any longer."""
    new = NewMemory(
        text,
        importance=importance,
        memory_type=memory_type,
        valid_from=moment("--valid-from", valid_from),
    )
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        added = repo.supersede(agent, memory_id, new, reason=reason, actor=actor, force=force)
    if json:
        print_json({"id": str(added), "outcome": added.outcome, "superseded": str(memory_id)})
    else:
        console.print(f"{memory_id} superseded by {added}", highlight=False)


@app.command()
def importance(
    memory: MemoryId,
    value: Annotated[float, typer.Argument(help="0 to 1.")],
    agent: Agent,
    reason: Reason = None,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Override a memory's importance."""
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        changed = repo.upkeep.set_importance(agent, memory_id, value, reason=reason, actor=actor)
    print_changed(changed, "importance", json=json)
