"""pgrecall near-duplicates, clusters, consolidate, complete-tasks, prune, clear"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.options import ProfileName
from pgrecall.cli.output import complaints, console, plain, print_json
from pgrecall.cli.profile_commands import named_or_loaded
from pgrecall.cli.show import Actor, OfTeam, Reason, memories, print_number
from pgrecall.errors import InputError
from pgrecall.lifecycle.curating import NEWEST
from pgrecall.memories.preparing import NEAR_DUPLICATE
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Curate")


Newest = Annotated[int, typer.Option(help="How many memories are compared with each other.")]
MinSimilarityOfCluster = Annotated[
    float, typer.Option("--min-similarity", help="Of each to the central one.")
]
MinSize = Annotated[int, typer.Option(help="Memories that a cluster needs.")]
MoreThan = Annotated[int, typer.Option(help="Active memories that an agent needs more than.")]


@app.command()
def near_duplicates(
    agent: Agent,
    threshold: Annotated[float, typer.Option(help="More similar than this.")] = NEAR_DUPLICATE,
    limit: Annotated[int, typer.Option(help="At most so many pairs.")] = 100,
    newest: Newest = NEWEST,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """List pairs of memories that say nearly the same."""
    with memories(database_url, schema, of_team) as repo, complaints.status("comparing"):
        pairs = repo.upkeep.near_duplicates(agent, threshold=threshold, limit=limit, newest=newest)
        ids = repo.ids.shorten(agent, {id_ for p in pairs for id_ in (p.older_id, p.newer_id)})
    if json:
        for pair in pairs:
            print_json(
                {
                    "similarity": round(pair.similarity, 6),
                    "older_id": str(pair.older_id),
                    "newer_id": str(pair.newer_id),
                    "older_content": pair.older_content,
                    "newer_content": pair.newer_content,
                }
            )
        return
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("similarity", justify="right")
    table.add_column("older", ratio=1, overflow="fold")
    table.add_column("newer", ratio=1, overflow="fold")
    for pair in pairs:
        table.add_row(
            f"{pair.similarity:.4f}",
            Text(f"{plain(pair.older_content)}\n{ids[pair.older_id]}"),
            Text(f"{plain(pair.newer_content)}\n{ids[pair.newer_id]}"),
        )
    console.print(table if pairs else "[yellow]none[/]")


@app.command()
def clusters(
    agent: Agent,
    min_similarity: MinSimilarityOfCluster = 0.80,
    min_size: MinSize = 3,
    more_than: MoreThan = 20,
    newest: Newest = NEWEST,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Show groups of memories that say much the same, the most central one first."""
    with memories(database_url, schema, of_team) as repo, complaints.status("comparing"):
        found = repo.upkeep.clusters(
            agent,
            min_similarity=min_similarity,
            min_size=min_size,
            more_than=more_than,
            newest=newest,
        )
        ids = repo.ids.shorten(
            agent, [member.id for cluster in found for member in cluster.memories]
        )
    for number, cluster in enumerate(found, start=1):
        if json:
            print_json(
                {
                    "ids": [str(member.id) for member in cluster.memories],
                    "similarities": [round(share, 6) for share in cluster.similarities],
                    "contents": [member.content for member in cluster.memories],
                }
            )
            continue
        console.print(f"[bold]cluster {number}[/]")
        for member, share in zip(cluster.memories, cluster.similarities, strict=True):
            console.print(Text(f"  {share:.3f}  {ids[member.id]}  {plain(member.content)}"))
    if not found and not json:
        console.print("[yellow]none[/]")


@app.command()
def consolidate(
    agent: Agent,
    min_similarity: MinSimilarityOfCluster = 0.80,
    min_size: MinSize = 3,
    more_than: MoreThan = 20,
    newest: Newest = NEWEST,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Put one memory, with the words of the most central one, in the place of each cluster."""
    with (
        memories(database_url, schema, of_team) as repo,
        Progress(console=complaints, transient=True) as progress,
    ):
        task = progress.add_task("consolidating", total=None)
        done = repo.upkeep.consolidate(
            agent,
            min_similarity=min_similarity,
            min_size=min_size,
            more_than=more_than,
            newest=newest,
            actor=actor,
            on_progress=lambda number, of: progress.update(task, completed=number, total=of),
        )
    for one in done:
        if json:
            print_json(
                {
                    "id": str(one.memory_id),
                    "sources": [str(source) for source in one.source_ids],
                    "importance": one.importance,
                }
            )
        else:
            console.print(
                f"{one.memory_id} stands for {len(one.source_ids)} memories, "
                f"importance {one.importance:g}",
                highlight=False,
            )
    if not done and not json:
        console.print("[yellow]nothing to consolidate[/]")


@app.command()
def complete_tasks(
    agent: Agent,
    days: Annotated[float, typer.Option(help="Created and last accessed longer ago.")] = 7,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Complete tasks that nobody has asked for in a while."""
    with memories(database_url, schema, of_team) as repo:
        number = repo.upkeep.complete_stale_tasks(agent, older_than=_days(days), actor=actor)
    print_number("completed", number, "tasks completed", json=json)


@app.command()
def prune(
    agent: Agent,
    days: Annotated[float | None, typer.Option(help="Created longer ago.")] = None,
    below_score: Annotated[float | None, typer.Option(help="Scores less, without a query.")] = None,
    profile: ProfileName = "five_factor",
    reason: Reason = None,
    actor: Actor = None,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Archive memories that are old, or score low, or both if both are given."""
    chosen = named_or_loaded(profile)
    with memories(database_url, schema, of_team) as repo:
        number = repo.upkeep.prune(
            agent,
            older_than=None if days is None else _days(days),
            below_score=below_score,
            profile=chosen,
            reason=reason,
            actor=actor,
        )
    print_number("archived", number, "archived", json=json)


@app.command()
def clear(
    agent: Agent,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Delete everything of an agent: memories, counters, labels, links and history."""
    if not yes:
        question = f"Delete everything of {plain(agent)}? It cannot be undone."
        typer.confirm(question, abort=True, err=True)
    with memories(database_url, schema, of_team) as repo:
        number = repo.clear(agent)
    print_number("cleared", number, "memories deleted, nothing is left of them", json=json)


def _days(days: float) -> timedelta:
    try:
        return timedelta(days=days)
    except (OverflowError, ValueError):
        raise InputError(f"--days: {days} is no number of days") from None
