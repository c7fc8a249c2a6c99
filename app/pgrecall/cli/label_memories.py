"""pgrecall label, unlabel, labels, labelled"""

from __future__ import annotations

from typing import Annotated, cast

import typer
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.output import console, plain, print_json
from pgrecall.cli.show import Actor, MemoryId, OfTeam, id_of, memories, print_number
from pgrecall.lifecycle.label import Label, LabelKind
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Labels and links")


Values = Annotated[list[str], typer.Argument(help="The labels.", metavar="LABEL…")]


@app.command()
def label(
    memory: MemoryId,
    value: Values,
    agent: Agent,
    kind: Annotated[LabelKind, typer.Option(help="What kind of label.")] = "keyword",
    weight: Annotated[float, typer.Option(help="0 to 1.")] = 1.0,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Give a memory labels that it can be found by."""
    given = [Label(text, kind, weight) for text in value]
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        number = repo.labels.add(agent, memory_id, given, actor=actor)
    print_number("labelled", number, "labels written", json=json)


@app.command()
def unlabel(
    memory: MemoryId,
    value: Values,
    agent: Agent,
    kind: Annotated[LabelKind, typer.Option(help="What kind of label.")] = "keyword",
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Take labels from a memory."""
    given = [Label(text, kind) for text in value]
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        number = repo.labels.remove(agent, memory_id, given, actor=actor)
    print_number("unlabelled", number, "labels taken away", json=json)


@app.command()
def labels(
    memory: MemoryId,
    agent: Agent,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Show the labels of a memory."""
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        found = repo.labels.of(agent, memory_id)
    for one in found:
        if json:
            print_json({"value": one.value, "kind": one.kind, "weight": one.weight})
        else:
            console.print(Text(f"{one.weight:.3f}  {one.kind:<9}  {plain(one.value)}"))
    if not found and not json:
        console.print("[yellow]none[/]")


@app.command()
def labelled(
    value: Values,
    agent: Agent,
    kind: Annotated[list[str] | None, typer.Option(help="Only labels of this kind.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """List the memories that carry any of these labels, heaviest first."""
    kinds = cast("list[LabelKind] | None", kind or None)  # the repository checks them
    with memories(database_url, schema, of_team) as repo:
        found = repo.labels.find(agent, value, kinds=kinds, limit=limit)
    for memory, weight in found:
        if json:
            print_json({"id": str(memory.id), "weight": weight, "content": memory.content})
        else:
            console.print(Text(f"{weight:.3f}  {memory.id}  {plain(memory.content)}"))
    if not found and not json:
        console.print("[yellow]none[/]")
