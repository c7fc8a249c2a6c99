"""pgrecall add"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict, Unpack

import typer

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.options import Actor, When
from pgrecall.cli.output import Output
from pgrecall.core.limits import TIERS
from pgrecall.core.memory import NewMemory
from pgrecall.execution.synchronous import MemoryRepository
from pgrecall.memories.preparing import DuplicatePolicy

app = App(panel="Store and search")


class Fields(TypedDict, total=False):
    """Those of NewMemory that are options."""

    memory_type: Annotated[
        str,
        typer.Option("--type", help="Type: fact, preference, task … Default: episodic."),
    ]
    importance: Annotated[float, typer.Option(help="0 to 1. Default: 0.5.")]
    confidence: Annotated[float, typer.Option(help="0 to 1. Default: 0.8.")]
    tags: Annotated[Sequence[str], typer.Option("--tag", help="A tag. May be repeated.")]
    entities: Annotated[
        Sequence[str],
        typer.Option("--entity", help="A person or thing it is about. May be repeated."),
    ]
    metadata: Annotated[
        dict[str, Any],
        typer.Option(
            metavar="KEY=VALUE",
            help="Metadata, such as: project=quaybook, priority=3. May be repeated. Takes JSON "
            """objects, too: '{"steps": [1, 2]}'.""",
        ),
    ]
    created_at: When
    tier: Annotated[str, typer.Option(help=f"{', '.join(TIERS)}.")]
    subject: Annotated[str, typer.Option(help="What it is about.")]
    component: Annotated[str, typer.Option(help="Component that produced it; sets the trust.")]
    output_type: Annotated[str, typer.Option(help="Type of output; sets how trust decays.")]
    compliant: Annotated[bool, typer.Option(help="Whether it passed governance; sets the trust.")]
    key: Annotated[str, typer.Option(help="Your key for this memory: a second write adds nothing.")]
    session: Annotated[str, typer.Option(help="Dialogue in which it is a turn.")]
    turn: Annotated[int, typer.Option(help="Its place in the dialogue.")]


@app.declare(
    'pgrecall add "Zoe plays the cello." --type fact --tag music --agent zoe',
    'pgrecall add "Quaybook ships on Monday." --metadata project=quaybook --agent zoe',
)
def add(
    repo: MemoryRepository,
    text: Annotated[str, typer.Argument(help="Text of the memory.")],
    agent: Agent,
    check_compliance: Annotated[
        bool, typer.Option(help="Refuse a memory that is not compliant.")
    ] = True,
    duplicates: Annotated[
        DuplicatePolicy, typer.Option(help="What to do if a memory has the same text.")
    ] = "bump",
    near_duplicates: Annotated[
        float | None,
        typer.Option(help="Treat memories that are more similar as duplicates, such as 0.92."),
    ] = None,
    actor: Actor = None,
    **fields: Unpack[Fields],
) -> Output:
    """Store a memory and print its id.

    The local model embeds the text. If a memory already has the same text, nothing new is stored
    and its id is printed.
    """
    added = repo.add(
        agent,
        NewMemory(text, **fields),
        duplicates=duplicates,
        near_duplicates=near_duplicates,
        check_compliance=check_compliance,
        actor=actor,
    )
    how = "" if added.similarity is None else f" at {added.similarity:.3f}"
    known = f"{added.outcome.replace('_', ' ')}{how}: nothing new is stored"
    record = {"id": added, "outcome": added.outcome, "similarity": added.similarity}
    return Output([record], str(added), notes=[] if added.inserted else [known])
