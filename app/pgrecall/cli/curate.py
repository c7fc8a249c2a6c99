"""pgrecall near-duplicates, clusters, consolidate, complete-tasks, prune"""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, TypedDict, Unpack

from rich.progress import Progress
from rich.table import Column
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.memory_ids import short_ids
from pgrecall.cli.options import Actor, Reason
from pgrecall.cli.output import Output, complaints, number, plain, right, table, working
from pgrecall.cli.written import option
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.lifecycle.curating import NEWEST
from pgrecall.memories.preparing import NEAR_DUPLICATE
from pgrecall.scoring.profile import Profile

app = App(panel="Curate")

Newest = Annotated[int, option(f"Compare this many of the newest memories. Default: {NEWEST}.")]


class Pairs(TypedDict, total=False):
    """The arguments of `near_duplicates`."""

    threshold: Annotated[
        float, option(f"Only pairs that are more similar, 0 to 1. Default: {NEAR_DUPLICATE}.")
    ]
    limit: Annotated[int, option("How many pairs. Default: 100.", "--limit", "-n")]
    newest: Newest


class Clustering(TypedDict, total=False):
    """The arguments of `clusters` and `consolidate`."""

    min_similarity: Annotated[
        float, option("Similarity of each memory to the central one, 0 to 1. Default: 0.8.")
    ]
    min_size: Annotated[int, option("Smallest size of a cluster. Default: 3.")]
    more_than: Annotated[
        int, option("Skip agents with this many active memories or fewer. Default: 20.")
    ]
    newest: Newest


@app.declare("pgrecall near-duplicates --threshold 0.9 --agent zoe")
def near_duplicates(repo: MemoryRepository, agent: Agent, **options: Unpack[Pairs]) -> Output:
    """List pairs of memories that say nearly the same."""
    with working("comparing memories"):
        pairs = repo.upkeep.near_duplicates(agent, **options)
        ids = short_ids(repo, agent, {i for one in pairs for i in (one.older_id, one.newer_id)})
    shown = table(
        *right("similarity"),
        Column("older", ratio=1, overflow="fold"),
        Column("newer", ratio=1, overflow="fold"),
        rows=(
            (
                f"{pair.similarity:.4f}",
                f"{plain(pair.older_content)}\n{ids[pair.older_id]}",
                f"{plain(pair.newer_content)}\n{ids[pair.newer_id]}",
            )
            for pair in pairs
        ),
    )
    return Output(map(asdict, pairs), shown, otherwise="no near duplicates")


@app.declare("pgrecall clusters --min-similarity 0.7 --agent zoe")
def clusters(repo: MemoryRepository, agent: Agent, **options: Unpack[Clustering]) -> Output:
    """List groups of similar memories, each with its most central one first."""
    with working("comparing memories"):
        found = repo.upkeep.clusters(agent, **options)
        ids = short_ids(repo, agent, [one.id for cluster in found for one in cluster.memories])
    lines: list[str | Text] = []
    for place, cluster in enumerate(found, start=1):
        lines.append(Text(f"cluster {place}", style="bold"))
        for member, share in zip(cluster.memories, cluster.similarities, strict=True):
            lines.append(Text(f"  {share:.3f}  {ids[member.id]}  {plain(member.content)}"))
    return Output(
        (
            {
                "ids": [str(member.id) for member in cluster.memories],
                "similarities": [round(share, 6) for share in cluster.similarities],
                "contents": [member.content for member in cluster.memories],
            }
            for cluster in found
        ),
        *lines,
        otherwise="no clusters",
    )


@app.declare("pgrecall consolidate --agent zoe")
def consolidate(
    repo: MemoryRepository, agent: Agent, actor: Actor = None, **options: Unpack[Clustering]
) -> Output:
    """Replace each cluster by one memory with the text of its most central one."""
    with Progress(console=complaints, transient=True) as progress:
        task = progress.add_task("consolidating", total=None)
        done = repo.upkeep.consolidate(
            agent,
            actor=actor,
            on_progress=lambda number, of: progress.update(task, completed=number, total=of),
            **options,
        )
    return Output(
        (
            {"id": one.memory_id, "sources": one.source_ids, "importance": one.importance}
            for one in done
        ),
        *(
            f"{one.memory_id} replaces {len(one.source_ids)} memories, "
            f"importance {one.importance:g}"
            for one in done
        ),
        otherwise="nothing to consolidate",
    )


@app.declare("pgrecall complete-tasks --days 14 --agent zoe")
def complete_tasks(
    repo: MemoryRepository,
    agent: Agent,
    days: Annotated[float, option("Only tasks created and last accessed longer ago.")] = 7,
    actor: Actor = None,
) -> Output:
    """Mark tasks as completed that have not been accessed for a while."""
    done = repo.upkeep.complete_stale_tasks(agent, older_than=_days(days), actor=actor)
    return number("completed", done, "task completed", "tasks completed")


@app.declare(
    "pgrecall prune --days 365 --agent zoe",
    "pgrecall prune --days 30 --below-score 0.2 --agent zoe",
)
def prune(
    repo: MemoryRepository,
    agent: Agent,
    days: Annotated[float | None, option("Only memories created longer ago.")] = None,
    below_score: Annotated[
        float | None, option("Only memories with a lower score without a query, 0 to 1.")
    ] = None,
    profile: Annotated[
        Profile | str | None,
        option(
            "Profile, or file, that scores. Default: that of `pgrecall profiles default`, at first "
            "five_factor.",
            *("--profile", "-p"),
        ),
    ] = None,
    reason: Reason = None,
    actor: Actor = None,
) -> Output:
    """Archive memories that are old, or that score low, or both."""
    done = repo.upkeep.prune(
        agent,
        older_than=None if days is None else _days(days),
        below_score=below_score,
        profile=profile,
        reason=reason,
        actor=actor,
    )
    return number("archived", done, "archived")


def _days(days: float) -> timedelta:
    try:
        return timedelta(days=days)
    except (OverflowError, ValueError):
        raise InputError(f"--days must be a number of days, got {days}") from None
