"""pgrecall add"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.options import Actor, When
from pgrecall.cli.output import Output
from pgrecall.core.limits import TIERS
from pgrecall.core.memory import UNSET, NewMemory
from pgrecall.execution.synchronous import MemoryRepository
from pgrecall.memories.preparing import DuplicatePolicy

app = App(panel="Store and search")


@app.declare(
    'pgrecall add "Zoe plays the cello." --type fact --tag music --agent zoe',
    'pgrecall add "Quaybook ships on Monday." --metadata project=quaybook --agent zoe',
)
def add(
    repo: MemoryRepository,
    text: Annotated[str, typer.Argument(help="Text of the memory.")],
    agent: Agent,
    memory_type: Annotated[
        str, typer.Option("--type", help="Type: fact, preference, task …")
    ] = "episodic",
    importance: Annotated[float, typer.Option(help="0 to 1.")] = 0.5,
    confidence: Annotated[float, typer.Option(help="0 to 1.")] = 0.8,
    tag: Annotated[list[str] | None, typer.Option(help="A tag. May be repeated.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="A person or thing it is about. May be repeated.")
    ] = None,
    metadata: Annotated[
        dict[str, Any] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Metadata, such as: project=quaybook, priority=3. May be repeated. Takes JSON "
            """objects, too: '{"steps": [1, 2]}'.""",
        ),
    ] = None,
    created_at: When = None,
    tier: Annotated[str | None, typer.Option(help=f"{', '.join(TIERS)}.")] = None,
    subject: Annotated[str | None, typer.Option(help="What it is about.")] = None,
    component: Annotated[
        str | None, typer.Option(help="Component that produced it; sets the trust.")
    ] = None,
    output_type: Annotated[
        str | None, typer.Option(help="Type of output; sets how trust decays.")
    ] = None,
    compliant: Annotated[
        bool | None, typer.Option(help="Whether it passed governance; sets the trust.")
    ] = None,
    check_compliance: Annotated[
        bool, typer.Option(help="Refuse a memory that is not compliant.")
    ] = True,
    key: Annotated[
        str | None, typer.Option(help="Your key for this memory: a second write adds nothing.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Dialogue in which it is a turn.")] = None,
    turn: Annotated[int | None, typer.Option(help="Its place in the dialogue.")] = None,
    duplicates: Annotated[
        DuplicatePolicy, typer.Option(help="What to do if a memory has the same text.")
    ] = "bump",
    near_duplicates: Annotated[
        float | None,
        typer.Option(help="Treat memories that are more similar as duplicates, such as 0.92."),
    ] = None,
    actor: Actor = None,
) -> Output:
    """Store a memory and print its id.

    The local model embeds the text. If a memory already has the same text, nothing new is stored
    and its id is printed.
    """
    memory = NewMemory(
        text,
        memory_type=memory_type,
        importance=importance,
        confidence=confidence,
        tags=tag or (),
        entities=entity or (),
        metadata=metadata or {},
        created_at=UNSET if created_at is None else created_at,
        tier=UNSET if tier is None else tier,
        subject=subject,
        component=component,
        output_type=output_type,
        compliant=compliant,
        key=key,
        session=session,
        turn=turn,
    )
    added = repo.add(
        agent,
        memory,
        duplicates=duplicates,
        near_duplicates=near_duplicates,
        check_compliance=check_compliance,
        actor=actor,
    )
    how = "" if added.similarity is None else f" at {added.similarity:.3f}"
    known = f"{added.outcome.replace('_', ' ')}{how}: nothing new is stored"
    record = {"id": added, "outcome": added.outcome, "similarity": added.similarity}
    return Output([record], str(added), notes=[] if added.inserted else [known])
