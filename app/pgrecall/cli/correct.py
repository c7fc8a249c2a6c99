"""pgrecall supersede, invalidate, revive, approve, reject, promote, demote"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import StoresOne
from pgrecall.cli.memory_ids import MemoryId, MemoryIds
from pgrecall.cli.options import Actor, Reason
from pgrecall.cli.output import Output, number
from pgrecall.cli.written import ISO_8601, argument, option
from pgrecall.core.memory import NewMemory
from pgrecall.execution import MemoryRepository

app = App(panel="Correct")


@app.declare('pgrecall supersede 0197a3c2 "Zoe plays the viola." --agent zoe')
def supersede(
    repo: StoresOne,
    memory: MemoryId,
    text: Annotated[str, argument("What is true instead.")],
    agent: Agent,
    importance: Annotated[float, option("0 to 1; at least that of the old memory is used.")] = 0.5,
    memory_type: Annotated[str, option("Type of it.", "--type")] = "episodic",
    valid_from: Annotated[datetime | None, option(f"Since when it is true: {ISO_8601}.")] = None,
    force: Annotated[bool, option("Even if they overlap in time.", "--force")] = False,
    reason: Reason = None,
    actor: Actor = None,
) -> Output:
    """Replace a memory by a new one. The old one is stored on, but no longer found."""
    new = NewMemory(text, importance=importance, memory_type=memory_type, valid_from=valid_from)
    added = repo.supersede(agent, memory, new, reason=reason, actor=actor, force=force)
    record = {"id": added, "outcome": added.outcome, "superseded": memory}
    return Output([record], f"{memory} superseded by {added}")


SEVERAL = {
    "invalidate": "Hide memories from searches, from now on. They are stored on, and `revive` "
    "brings them back.",
    "revive": "Bring memories back that were invalidated or archived, or have expired.",
    "approve": "Approve memories that wait for it (`list --status pending`), or take the mark for "
    "review away (`list --needs-review`).",
    "reject": "Archive memories that wait for approval or are marked for review.",
    "promote": "Move memories up one tier: from short to medium, from medium to long.",
    "demote": "Move memories down one tier: from long to medium, from medium to short.",
}
"""Methods that change any number of memories alike: the name → the help."""


def _declare(name: str, help_: str) -> None:
    def command(
        repo: MemoryRepository,
        memory: MemoryIds,
        agent: Agent,
        reason: Reason = None,
        actor: Actor = None,
    ) -> Output:
        method = getattr(repo if name in ("invalidate", "revive") else repo.upkeep, name)
        done = "rejected" if name == "reject" else f"{name}d"
        return number(done, method(agent, memory, reason=reason, actor=actor), done)

    command.__doc__ = help_
    app.declare(f"pgrecall {name} 0197a3c2 0197a3d8 --agent zoe", name=name)(command)


for _name, _help in SEVERAL.items():
    _declare(_name, _help)
