"""pgrecall outcome, trust, feedback, history, link …, supersede … and others"""

from __future__ import annotations

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.output import Output, changed, number, table
from pgrecall.cli.parsers import argument, option
from pgrecall.core.quoting import cut
from pgrecall.lifecycle.event import Event

app = App()

QUERY = option("Query that found the memory; evaluate and tune learn from it.")


@app.method(
    "record_outcome",
    'pgrecall outcome 0197a3c2 success --query "which instrument?" --agent zoe',
    outcome=argument("How using the memory went.", metavar="RESULT"),
    query=QUERY,
)
def outcome(call: Call) -> Output:
    return changed(call(), "trust", "trust_usage", "success_count", "failure_count")


@app.method(
    "adjust_trust",
    "pgrecall trust 0197a3c2 0.1 --reason confirmed --actor ann --agent zoe",
    "pgrecall trust --reason rumour --actor ann --agent zoe -- 0197a3c2 -0.2",
    delta=argument("What to add, -1 to 1; before a negative number write --."),
)
def trust(call: Call) -> Output:
    """Raise or lower the trust in a memory by hand. It stays between 0 and 1."""
    return changed(call(), "trust")


@app.method(
    "feedback",
    'pgrecall feedback 0197a3c2 useful --query "which instrument?" --agent zoe',
    kind=argument("What you think of the memory."),
    context=option("A comment, for the history."),
    query=QUERY,
)
def feedback(call: Call) -> Output:
    """Record feedback on a memory. It raises or lowers its usefulness."""
    return changed(call(), "usefulness", "needs_review", "feedback_up", "feedback_down")


@app.method("history", "pgrecall history 0197a3c2 --agent zoe")
def history(call: Call) -> Output:
    """Show the events of a memory, oldest first; also if it has been deleted since."""
    events = call()
    shown = table(
        "when",
        "event",
        "what changed",
        "why",
        "who",
        "run",
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
    return Output(events, shown, otherwise="nothing is known about this memory")


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


@app.method(
    "supersede",
    'pgrecall supersede 0197a3c2 "Zoe plays the viola." --agent zoe',
    new=argument("What is true instead; - reads it from standard input.", metavar="TEXT"),
    force=option("Even if they overlap in time."),
)
def supersede(call: Call) -> Output:
    """Replace a memory by a new one. The old one is kept but no longer returned."""
    old, added = call.arguments["memory_id"], call()
    record = {"id": added, "outcome": added.outcome, "superseded": old}
    return Output([record], f"{old} superseded by {added}")


def _declare(method: str) -> None:
    """A command for a method that changes any number of memories."""
    participle = "rejected" if method == "reject" else f"{method}d"
    example = f"pgrecall {method} 0197a3c2 0197a3d8 --agent zoe"
    force = option("Even if another memory took its place.")

    @app.method(method, example, command=method, force=force)
    def command(call: Call) -> Output:
        return number(participle, call(), participle)


_declare("invalidate")
_declare("revive")
_declare("approve")
_declare("reject")


_LINK_KIND = option("What the link means.")


@app.method(
    "links.add",
    "pgrecall link 0197a3c2 0197a3d8 --kind caused_by --agent zoe",
    kind=_LINK_KIND,
)
def link(call: Call) -> Output:
    call()
    names = {"source": "source_id", "target": "target_id", "kind": "kind", "weight": "weight"}
    return Output([{one: call.arguments[name] for one, name in names.items()}], "linked")


@app.method(
    "links.remove",
    "pgrecall unlink 0197a3c2 0197a3d8 --kind caused_by --agent zoe",
    kind=_LINK_KIND,
)
def unlink(call: Call) -> Output:
    removed = call()
    return Output([{"unlinked": removed}], "unlinked" if removed else "there was no such link")


@app.method("links.of", "pgrecall links 0197a3c2 --agent zoe")
def links(call: Call) -> Output:
    """Show the links from and to a memory, strongest first."""
    links = call()
    return Output(
        (
            {"source": o.source_id, "target": o.target_id, "kind": o.kind, "weight": o.weight}
            for o in links
        ),
        *(f"{o.weight:.3f}  {o.kind}  {o.source_id} → {o.target_id}" for o in links),
        otherwise="no links",
    )
