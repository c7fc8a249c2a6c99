"""pgrecall outcome, trust, feedback, history"""

from __future__ import annotations

from typing import Annotated

from rich.table import Column

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.memory_ids import MemoryId
from pgrecall.cli.options import Actor, Reason
from pgrecall.cli.output import Output, changed, table
from pgrecall.cli.written import argument, option
from pgrecall.core.quoting import cut
from pgrecall.execution import MemoryRepository
from pgrecall.lifecycle.event import Event
from pgrecall.lifecycle.using import Feedback, Outcome

app = App(panel="Learn from use")

ForQuery = Annotated[
    str | None, option("Query that found the memory; evaluate and tune learn from it.", "--query")
]

Key = Annotated[str | None, option("Your name for it: repeated under it, it counts once.")]


@app.declare('pgrecall outcome 0197a3c2 success --query "which instrument?" --agent zoe')
def outcome(
    repo: MemoryRepository,
    memory: MemoryId,
    result: Annotated[Outcome, argument("How using the memory went.")],
    agent: Agent,
    reason: Reason = None,
    actor: Actor = None,
    query: ForQuery = None,
    touch: Annotated[bool, option("Count this as a retrieval, too.")] = True,
    key: Key = None,
) -> Output:
    """Record whether using a memory helped. Success raises its trust, failure lowers it."""
    found = repo.record_outcome(
        agent, memory, result, reason=reason, actor=actor, query=query, touch=touch, key=key
    )
    return changed(found, "trust", "trust_usage", "success_count", "failure_count")


@app.declare(
    "pgrecall trust 0197a3c2 0.1 --reason confirmed --actor ann --agent zoe",
    "pgrecall trust --reason rumour --actor ann --agent zoe -- 0197a3c2 -0.2",
)
def trust(
    repo: MemoryRepository,
    memory: MemoryId,
    delta: Annotated[float, argument("What to add, -1 to 1; before a negative number write --.")],
    reason: Annotated[str, option("Why, for the history.")],
    actor: Annotated[str, option("Who did it, for the history.")],
    agent: Agent,
) -> Output:
    """Raise or lower the trust in a memory by hand. It stays between 0 and 1."""
    return changed(repo.upkeep.adjust_trust(agent, memory, delta, reason, actor), "trust")


@app.declare('pgrecall feedback 0197a3c2 useful --query "which instrument?" --agent zoe')
def feedback(
    repo: MemoryRepository,
    memory: MemoryId,
    kind: Annotated[Feedback, argument("What you think of the memory.")],
    agent: Agent,
    context: Annotated[str | None, option("A comment, for the history.")] = None,
    actor: Actor = None,
    query: ForQuery = None,
    key: Key = None,
) -> Output:
    """Record feedback on a memory. It raises or lowers its usefulness."""
    found = repo.feedback(agent, memory, kind, context, actor=actor, query=query, key=key)
    return changed(found, "usefulness", "needs_review", "feedback_up", "feedback_down")


@app.declare("pgrecall history 0197a3c2 --agent zoe")
def history(repo: MemoryRepository, memory: MemoryId, agent: Agent) -> Output:
    """Show what happened to a memory, oldest first. Works for deleted memories, too."""
    events = repo.history(agent, memory)
    shown = table(
        Column("when", no_wrap=True),
        Column("event", no_wrap=True),
        Column("what changed", ratio=2, overflow="fold"),
        Column("why", ratio=1, overflow="fold"),
        Column("who", overflow="fold"),
        Column("run", overflow="fold"),
        rows=(
            (
                f"{event.occurred_at:%Y-%m-%d %H:%M:%S}",
                event.event_type,
                _changes(event),
                event.reason or "",
                event.actor or "",
                event.run or "",
            )
            for event in events
        ),
    )
    return Output(
        (one.record() for one in events), shown, otherwise="nothing is known about this memory"
    )


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
