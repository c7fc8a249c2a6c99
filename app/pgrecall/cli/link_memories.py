"""pgrecall link, unlink, links"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.output import console, plain, print_json
from pgrecall.cli.show import Actor, MemoryId, OfTeam, Source, Target, id_of, memories
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Labels and links")


LinkKind = Annotated[str, typer.Option(help="What the link means.")]


@app.command()
def link(
    source: Source,
    target: Target,
    agent: Agent,
    kind: LinkKind = "related",
    weight: Annotated[float, typer.Option(help="0 to 1.")] = 1.0,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Link two memories; search --expand brings along what the hits are linked to."""
    with memories(database_url, schema, of_team) as repo:
        one, other = id_of(repo, agent, source), id_of(repo, agent, target)
        repo.links.add(agent, one, other, kind, weight=weight, actor=actor)
    if json:
        print_json({"source": str(one), "target": str(other), "kind": kind, "weight": weight})
    else:
        console.print("linked")


@app.command()
def unlink(
    source: Source,
    target: Target,
    agent: Agent,
    kind: LinkKind = "related",
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Take a link away."""
    with memories(database_url, schema, of_team) as repo:
        one, other = id_of(repo, agent, source), id_of(repo, agent, target)
        there = repo.links.remove(agent, one, other, kind, actor=actor)
    if json:
        print_json({"unlinked": there})
    else:
        console.print("unlinked" if there else "[yellow]there was no such link[/]")


@app.command()
def links(
    memory: MemoryId,
    agent: Agent,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Show the links from and to a memory."""
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        found = repo.links.of(agent, memory_id)
    for one in found:
        if json:
            print_json(
                {
                    "source": str(one.source_id),
                    "target": str(one.target_id),
                    "kind": one.kind,
                    "weight": one.weight,
                }
            )
        else:
            console.print(
                Text(f"{one.weight:.3f}  {plain(one.kind)}  {one.source_id} → {one.target_id}")
            )
    if not found and not json:
        console.print("[yellow]none[/]")
