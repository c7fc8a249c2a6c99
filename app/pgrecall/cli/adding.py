"""pgrecall add"""

from __future__ import annotations

import json as json_
from typing import Annotated, Any

import typer

from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.output import console, print_json
from pgrecall.cli.times import When, moment
from pgrecall.errors import InputError
from pgrecall.memory import UNSET, NewMemory
from pgrecall.schema import DEFAULT_SCHEMA


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
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Store one memory, embedded by the local model, and print its id."""
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
    )
    with repository(database_url, schema) as repo:
        memory_id = repo.add(agent, memory)
    if json:
        print_json({"id": str(memory_id)})
    else:
        console.print(str(memory_id), highlight=False)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json_.loads(text)
    except ValueError as error:
        raise InputError(f"--metadata is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"--metadata must be a JSON object, got {text[:80]}")
    return value
