"""pgrecall add"""

from __future__ import annotations

import json as json_
from enum import StrEnum
from typing import Annotated, Any

import typer

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.output import complaints, console, print_json
from pgrecall.cli.show import Actor, OfTeam, memories
from pgrecall.cli.times import When, moment
from pgrecall.core.memory import UNSET, NewMemory
from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Remember and recall")


class DuplicateHandling(StrEnum):
    BUMP = "bump"
    KEEP = "keep"
    REPLACE = "replace"


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    agent: Agent,
    memory_type: Annotated[str, typer.Option("--type", help="Its kind.")] = "episodic",
    importance: Annotated[float, typer.Option(help="0 to 1.")] = 0.5,
    confidence: Annotated[float, typer.Option(help="0 to 1.")] = 0.8,
    tag: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    entity: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    metadata: Annotated[str, typer.Option(help="A JSON object.")] = "{}",
    created_at: When = None,
    tier: Annotated[str | None, typer.Option(help="short, medium or long.")] = None,
    subject: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    component: Annotated[str | None, typer.Option(help="What produced it; sets trust.")] = None,
    output_type: Annotated[
        str | None, typer.Option(help="Kind of output; sets how trust decays.")
    ] = None,
    compliant: Annotated[
        bool | None, typer.Option(help="Whether it passed governance; sets trust.")
    ] = None,
    check_compliance: Annotated[
        bool, typer.Option(help="Refuse a memory that is not compliant.")
    ] = True,
    key: Annotated[
        str | None, typer.Option(help="Your name for this write; repeated, it adds nothing.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="The dialogue of which it is a turn.")] = None,
    turn: Annotated[int | None, typer.Option(help="Its place in the session.")] = None,
    duplicates: Annotated[
        DuplicateHandling, typer.Option(help="What becomes of a memory that says the same.")
    ] = DuplicateHandling.BUMP,
    near_duplicates: Annotated[
        float | None,
        typer.Option(help="Also take what is more similar than this for the same, such as 0.92."),
    ] = None,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Store one memory, embedded by the local model, and print its id.

    Text that a memory of the agent holds already is not stored twice; --json tells the outcome.
    """
    created = moment("--created-at", created_at)
    memory = NewMemory(
        text,
        memory_type=memory_type,
        importance=importance,
        confidence=confidence,
        tags=tag or (),
        entities=entity or (),
        metadata=_object(metadata),
        created_at=UNSET if created is None else created,
        tier=UNSET if tier is None else tier,
        subject=subject,
        component=component,
        output_type=output_type,
        compliant=compliant,
        key=key,
        session=session,
        turn=turn,
    )
    with memories(database_url, schema, of_team) as repo:
        added = repo.add(
            agent,
            memory,
            duplicates=duplicates.value,
            near_duplicates=near_duplicates,
            check_compliance=check_compliance,
            actor=actor,
        )
    if json:
        print_json({"id": str(added), "outcome": added.outcome, "similarity": added.similarity})
        return
    console.print(str(added), highlight=False)
    if not added.inserted:
        how = "" if added.similarity is None else f" at {added.similarity:.3f}"
        complaints.print(f"[dim]{added.outcome.replace('_', ' ')}{how}: nothing new is stored[/]")


def _object(text: str) -> dict[str, Any]:
    try:
        value = json_.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"--metadata is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"--metadata must be a JSON object, got {shortened(text)}")
    return value
