"""pgrecall terms"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.output import console, plain, print_json
from pgrecall.cli.show import OfTeam, memories
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Remember and recall")


@app.command()
def terms(
    agent: Agent,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many.")] = 20,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """List the words that tell most of an agent's memories, and what each weighs in a query.

    Words stand as they are compared: without their endings, accents and case.
    """
    with memories(database_url, schema, of_team) as repo:
        found = repo.upkeep.telling_terms(agent, limit=limit)
    if json:
        for term in found:
            print_json(term.record())
        return
    if not found:
        console.print("no words")
        return
    table = Table(show_edge=False)
    table.add_column("term")
    for name in ("memories", "weight", "telling"):
        table.add_column(name, justify="right")
    for term in found:
        table.add_row(
            plain(term.term), f"{term.memories:,}", f"{term.weight:.3f}", f"{term.telling:.3f}"
        )
    console.print(table)
