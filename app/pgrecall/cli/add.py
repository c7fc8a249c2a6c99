"""pgrecall add, upsert"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypedDict, Unpack

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import StoresOne
from pgrecall.cli.options import Actor, Reason
from pgrecall.cli.output import Output
from pgrecall.cli.written import ISO_8601, argument, content_of, option
from pgrecall.core.limits import TIERS
from pgrecall.core.memory import NewMemory
from pgrecall.memories.added import Added
from pgrecall.memories.preparing import DuplicatePolicy

app = App(panel="Store and search")

Content = Annotated[str, argument("Text of the memory; - reads it from standard input.")]
Run = Annotated[str | None, option("Where it comes from, such as a conversation, for the history.")]


class Fields(TypedDict, total=False):
    """The fields of NewMemory that are options."""

    memory_type: Annotated[
        str, option("Type: fact, preference, task … Default: episodic.", "--type")
    ]
    importance: Annotated[float, option("How important it is, 0 to 1. Default: 0.5.")]
    confidence: Annotated[float, option("How sure you are of it, 0 to 1. Default: 0.8.")]
    tags: Annotated[Sequence[str], option("A tag. May be repeated.", "--tag")]
    entities: Annotated[
        Sequence[str], option("A person or thing it is about. May be repeated.", "--entity")
    ]
    metadata: Annotated[
        dict[str, Any],
        option(
            "Metadata, such as: project=quaybook, priority=3. May be repeated. Takes JSON "
            """objects, too: '{"steps": [1, 2]}'.""",
            metavar="KEY=VALUE",
        ),
    ]
    created_at: Annotated[datetime, option(f"When it was created: {ISO_8601}. Default: now.")]
    tier: Annotated[str, option(f"{', '.join(TIERS)}.")]
    subject: Annotated[str, option("What it is about.")]
    labels: Annotated[Sequence[str], option("A label to find it by. May be repeated.", "--label")]
    component: Annotated[str, option("Component that produced it; sets the trust.")]
    output_type: Annotated[str, option("Type of output; sets how trust decays.")]
    compliant: Annotated[bool, option("Whether it passed governance; sets the trust.")]
    requires_approval: Annotated[bool, option("Hide it until you `approve` it.")]
    session: Annotated[str, option("Dialogue in which it is a turn.")]
    turn: Annotated[int, option("Its place in the dialogue.")]


class KeyedFields(Fields, total=False):
    """The options of `add`."""

    key: Annotated[str, option("Your key for this memory: a second write adds nothing.")]


@app.declare(
    'pgrecall add "Zoe plays the cello." --type fact --tag music --agent zoe',
    'pgrecall add "Quaybook ships on Monday." --metadata project=quaybook --agent zoe',
    "pgrecall add - --agent zoe",
    'pgrecall add "Zoe lives in Oslo." --subject home --supersede-subject --agent zoe',
)
def add(
    repo: StoresOne,
    text: Content,
    agent: Agent,
    check_compliance: Annotated[bool, option("Refuse a memory that is not compliant.")] = True,
    duplicates: Annotated[
        DuplicatePolicy, option("What to do if a memory has the same text.")
    ] = "bump",
    near_duplicates: Annotated[
        float | None, option("Treat memories that are more similar as duplicates, such as 0.92.")
    ] = None,
    supersede_subject: Annotated[
        bool, option("Supersede what is stored about the same subject.", "--supersede-subject")
    ] = False,
    actor: Actor = None,
    run: Run = None,
    **fields: Unpack[KeyedFields],
) -> Output:
    """Store a memory and print its id.

    The local model embeds the text. If a memory already has the same text, nothing new is stored
    and its id is printed.
    """
    added = repo.add(
        agent,
        NewMemory(content_of(text), **fields),
        duplicates=duplicates,
        near_duplicates=near_duplicates,
        check_compliance=check_compliance,
        supersede_subject=supersede_subject,
        actor=actor,
        run=run,
    )
    done = "superseded" if supersede_subject else "is about the same subject, too"
    return _added(added, *(f"{other} {done}" for other in added.same_subject))


@app.declare('pgrecall upsert message-17 "The parcel has arrived." --agent zoe')
def upsert(
    repo: StoresOne,
    key: Annotated[str, argument("Your key for the memory.")],
    text: Content,
    agent: Agent,
    check_compliance: Annotated[bool, option("Refuse a memory that is not compliant.")] = True,
    reason: Reason = None,
    actor: Actor = None,
    run: Run = None,
    **fields: Unpack[Fields],
) -> Output:
    """Store a memory under a key, or replace text and fields of the one that has it.

    Counters, history, labels and links stay; labels that are given are added.
    """
    added = repo.upsert(
        agent,
        NewMemory(content_of(text), key=key, **fields),
        check_compliance=check_compliance,
        reason=reason,
        actor=actor,
        run=run,
    )
    return _added(added)


def _added(added: Added, *more: str) -> Output:
    how = "" if added.similarity is None else f" at {added.similarity:.3f}"
    known = f"{added.outcome.replace('_', ' ')}{how}: nothing new is stored"
    notes = {"inserted": [], "replaced": ["replaced"]}.get(added.outcome, [known])
    record = {
        "id": added,
        "outcome": added.outcome,
        "similarity": added.similarity,
        "same_subject": list(added.same_subject),
        "trust": added.trust,
    }
    return Output([record], str(added), notes=[*notes, *more])
