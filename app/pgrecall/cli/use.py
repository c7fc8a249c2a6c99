"""pgrecall outcome, trust, feedback, history"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.output import console, plain, print_json
from pgrecall.cli.show import Actor, MemoryId, OfTeam, Reason, id_of, memories, print_changed
from pgrecall.core.quoting import cut
from pgrecall.lifecycle.event import Event
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Use")


class OutcomeName(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"


class FeedbackKind(StrEnum):
    USEFUL = "useful"
    NOT_USEFUL = "not_useful"
    OUTDATED = "outdated"
    INCORRECT = "incorrect"


ForQuery = Annotated[
    str | None,
    typer.Option("--query", help="What it was found for; kept as a label to evaluate by."),
]


@app.command()
def outcome(
    memory: MemoryId,
    result: Annotated[OutcomeName, typer.Argument(help="How using it went.")],
    agent: Agent,
    reason: Reason = None,
    actor: Actor = None,
    query: ForQuery = None,
    touch: Annotated[bool, typer.Option(help="Count a retrieval too.")] = True,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Record that using a memory went well or wrong; its trust moves."""
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        changed = repo.record_outcome(
            agent, memory_id, result.value, reason=reason, actor=actor, query=query, touch=touch
        )
    print_changed(changed, "trust", "trust_usage", "success_count", "failure_count", json=json)


@app.command()
def trust(
    memory: MemoryId,
    delta: Annotated[float, typer.Argument(help="What to add, -1 to 1 (-- -0.2 to lower).")],
    reason: Annotated[str, typer.Option(help="Why; kept in the history.")],
    actor: Annotated[str, typer.Option(help="Who; kept in the history.")],
    agent: Agent,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Change the trust in a memory by hand, within 0 and 1."""
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        changed = repo.upkeep.adjust_trust(agent, memory_id, delta, reason, actor)
    print_changed(changed, "trust", json=json)


@app.command()
def feedback(
    memory: MemoryId,
    kind: Annotated[FeedbackKind, typer.Argument(help="What was thought of it.")],
    agent: Agent,
    context: Annotated[str | None, typer.Option(help="In free text; kept in the history.")] = None,
    actor: Actor = None,
    query: ForQuery = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Record feedback on a memory; its usefulness moves."""
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        changed = repo.feedback(agent, memory_id, kind.value, context, actor=actor, query=query)
    print_changed(changed, "usefulness", "needs_review", "feedback_up", "feedback_down", json=json)


@app.command()
def history(
    memory: MemoryId,
    agent: Agent,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Show what happened to a memory, oldest first; also of one that was deleted."""
    with memories(database_url, schema, of_team) as repo:
        memory_id = id_of(repo, agent, memory)
        events = repo.history(agent, memory_id)
    if json:
        for event in events:
            print_json(event.record())
    elif not events:
        console.print("[yellow]nothing is known of it[/]")
    else:
        _print(events)


def _print(events: list[Event]) -> None:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("when", no_wrap=True)
    table.add_column("event", no_wrap=True)
    table.add_column("what changed", ratio=2, overflow="fold")
    table.add_column("why", ratio=1, overflow="fold")
    table.add_column("who", overflow="fold")
    for event in events:
        table.add_row(
            f"{event.occurred_at:%Y-%m-%d %H:%M:%S}",
            event.event_type,
            Text(plain(_changes(event))),
            Text(plain(event.reason or "")),
            Text(plain(event.actor or "")),
        )
    console.print(table)


def _changes(event: Event) -> str:
    changes = []
    for name, new in event.new_values.items():
        old = event.old_values.get(name)
        if event.event_type == "initial" or name not in event.old_values:
            if new is not None:
                changes.append(f"{name} {_value(new)}")
        elif new != old:
            changes.append(f"{name} {_value(old)} → {_value(new)}")
    return ", ".join(changes)


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else cut(str(value), 80)
