"""pgrecall index build, list, drop"""

from __future__ import annotations

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.output import Output, progress_bar, table
from pgrecall.core.display import Column, numbers
from pgrecall.rank_index.index import RankIndexStatus

app = App(
    name="index",
    help="Build rank indexes, which make searches of large agents fast.",
    no_args_is_help=True,
)


@app.method(
    "rank_indexes.build",
    "pgrecall index build",
    "pgrecall index build --agent zoe --at-least 1",
    without=("as_of",),
)
def build(call: Call) -> Output:
    """Build rank indexes for one agent, or for all agents with many memories.

    Readers and writers do not wait. An existing index is replaced once the new one is ready.
    """
    with progress_bar("waiting for writers") as advance:
        indexes = call(on_progress=lambda name, done, total: advance(done, total, name))
    rows = ((one.agent_id, f"{one.memories:,}", f"{one.seconds:.1f}") for one in indexes)
    shown = table("agent", *numbers("memories", "seconds"), rows=rows)
    return Output(indexes, shown, otherwise="nothing to build: no agent has so many memories")


@app.method("rank_indexes.status", "pgrecall index list")
def list_(call: Call) -> Output:
    """List rank indexes: what has changed since each was built, and which are due."""
    shown = table(
        "agent",
        *numbers("memories", "written", "changed", "used", "MiB", "built"),
        Column("due", tone="warn"),
        rows=map(_row, statuses := call()),
    )
    least = call.arguments["at_least"]
    nothing = f"no rank indexes, and no agent has {least:,} memories or more"
    return Output(statuses, shown, otherwise=nothing)


@app.method("rank_indexes.drop", "pgrecall index drop --agent zoe")
def drop(call: Call) -> Output:
    dropped = call()
    return Output([{"dropped": dropped}], "dropped" if dropped else "there was no rank index")


def _row(status: RankIndexStatus) -> tuple[str, ...]:
    index = status.index
    if index is None:
        memories = f"{status.memories or 0:,}"
        return status.agent_id, memories, *[""] * 5, status.due or ""
    return (
        status.agent_id,
        *(f"{n:,}" for n in (index.memories, status.written, status.changed, status.used)),
        f"{status.bytes / 2**20:,.1f}",
        f"{index.built_at:%Y-%m-%d %H:%M}",
        status.due or "",
    )
