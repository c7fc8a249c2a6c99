"""pgrecall label, unlabel, labels, labelled"""

from __future__ import annotations

from typing import Annotated, cast

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.memory_ids import MemoryId
from pgrecall.cli.options import Actor, Limit
from pgrecall.cli.output import Output, number
from pgrecall.cli.written import argument, option
from pgrecall.core.label import Label, LabelKind
from pgrecall.execution import MemoryRepository

app = App(panel="Labels and links")

Values = Annotated[list[str], argument("Labels.", metavar="LABEL…")]
Kind = Annotated[LabelKind, option("Kind of the labels.")]


@app.declare("pgrecall label 0197a3c2 tea drinks --agent zoe")
def label(
    repo: MemoryRepository,
    memory: MemoryId,
    value: Values,
    agent: Agent,
    kind: Kind = "keyword",
    weight: Annotated[float, option("How well they fit, 0 to 1.")] = 1.0,
    actor: Actor = None,
) -> Output:
    """Label a memory, so that it can be found by its labels."""
    given = [Label(text, kind, weight) for text in value]
    added = repo.labels.add(agent, memory, given, actor=actor)
    return number("labelled", added, "label added", "labels added")


@app.declare("pgrecall unlabel 0197a3c2 drinks --agent zoe")
def unlabel(
    repo: MemoryRepository,
    memory: MemoryId,
    value: Values,
    agent: Agent,
    kind: Kind = "keyword",
    actor: Actor = None,
) -> Output:
    """Remove labels from a memory."""
    given = [Label(text, kind) for text in value]
    removed = repo.labels.remove(agent, memory, given, actor=actor)
    return number("unlabelled", removed, "label removed", "labels removed")


@app.declare("pgrecall labels 0197a3c2 --agent zoe")
def labels(repo: MemoryRepository, memory: MemoryId, agent: Agent) -> Output:
    """List the labels of a memory."""
    found = repo.labels.of(agent, memory)
    return Output(
        ({"value": one.value, "kind": one.kind, "weight": one.weight} for one in found),
        *(f"{one.weight:.3f}  {one.kind:<9}  {one.value}" for one in found),
        otherwise="no labels",
    )


@app.declare("pgrecall labelled tea coffee --agent zoe")
def labelled(
    repo: MemoryRepository,
    value: Values,
    agent: Agent,
    kind: Annotated[list[str] | None, option("Only labels of this kind.")] = None,
    limit: Limit = 20,
) -> Output:
    """List memories with any of these labels, those with the most weight first."""
    kinds = cast("list[LabelKind] | None", kind)  # the repository checks them
    found = repo.labels.find(agent, value, kinds=kinds, limit=limit)
    return Output(
        (
            {"id": memory.id, "weight": weight, "content": memory.content}
            for memory, weight in found
        ),
        *(f"{weight:.3f}  {memory.id}  {memory.content}" for memory, weight in found),
        otherwise="no memory has such a label",
    )
