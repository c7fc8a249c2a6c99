"""pgrecall link, unlink, links"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.memory_ids import MemoryId
from pgrecall.cli.options import Actor
from pgrecall.cli.output import Output
from pgrecall.cli.written import argument, option
from pgrecall.execution import MemoryRepository

app = App(panel="Labels and links")

Source = Annotated[UUID, argument("Memory that the link starts from.", metavar="SOURCE")]
Target = Annotated[UUID, argument("Memory that the link leads to.", metavar="TARGET")]
Kind = Annotated[str, option("What the link means.")]


@app.declare("pgrecall link 0197a3c2 0197a3d8 --kind caused_by --agent zoe")
def link(
    repo: MemoryRepository,
    source: Source,
    target: Target,
    agent: Agent,
    kind: Kind = "related",
    weight: Annotated[float, option("How strong the link is, 0 to 1.")] = 1.0,
    actor: Actor = None,
) -> Output:
    """Link two memories. A search with --expand follows the links of its hits."""
    repo.links.add(agent, source, target, kind, weight=weight, actor=actor)
    return Output([_record(source, target, kind, weight)], "linked")


@app.declare("pgrecall unlink 0197a3c2 0197a3d8 --kind caused_by --agent zoe")
def unlink(
    repo: MemoryRepository,
    source: Source,
    target: Target,
    agent: Agent,
    kind: Kind = "related",
    actor: Actor = None,
) -> Output:
    """Remove a link."""
    removed = repo.links.remove(agent, source, target, kind, actor=actor)
    return Output([{"unlinked": removed}], "unlinked" if removed else "there was no such link")


@app.declare("pgrecall links 0197a3c2 --agent zoe")
def links(repo: MemoryRepository, memory: MemoryId, agent: Agent) -> Output:
    """List the links from and to a memory."""
    found = repo.links.of(agent, memory)
    return Output(
        (
            {"source": o.source_id, "target": o.target_id, "kind": o.kind, "weight": o.weight}
            for o in found
        ),
        *(f"{o.weight:.3f}  {o.kind}  {o.source_id} → {o.target_id}" for o in found),
        otherwise="no links",
    )


def _record(source: UUID, target: UUID, kind: str, weight: float) -> dict[str, Any]:
    return {"source": source, "target": target, "kind": kind, "weight": weight}
