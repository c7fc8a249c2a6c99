"""pgrecall evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pgrecall import chart
from pgrecall.cli.app import App
from pgrecall.cli.asking import AsOf, MinScore, MinSimilarity, Teams
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.labelled import QueriesFile, Recorded, Seed, queries_of, require_source
from pgrecall.cli.output import complaints, console, plain, print_json, require_writable
from pgrecall.cli.profiling import named_or_loaded
from pgrecall.cli.times import moment
from pgrecall.evaluation import METRICS, Evaluation, ProfileEvaluation, Scores
from pgrecall.profiles import BUILT_IN
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Choose by evidence")


PROFILES = "five_factor,last_access,half_life,trust,tiered,hybrid"


@app.command()
def evaluate(
    agent: Agent,
    file: QueriesFile = None,
    recorded: Recorded = False,
    profiles: Annotated[
        str,
        typer.Option(
            "--profiles",
            "-p",
            help=f"Names ({', '.join(BUILT_IN)}) or files, with commas; the others are compared "
            "with the first.",
        ),
    ] = PROFILES,
    k: Annotated[int, typer.Option("-k", help="Of recall@k and nDCG@k.")] = 10,
    min_score: MinScore = None,
    min_similarity: MinSimilarity = None,
    team: Teams = None,
    as_of: AsOf = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw a chart: .png or .svg.", show_default=False)
    ] = None,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Measure how well profiles find what answers labelled queries.

    recall@k is the share of the relevant memories among the first k, MRR the mean of 1 / the rank
    of the first one, nDCG@k what the order is worth. Differences to the first profile come with an
    interval that holds them with 95 %, colored where it leaves out 0 over ten queries or more.
    """
    require_source(file, recorded=recorded)
    if plot is not None:
        chart.require_drawable(plot)
        require_writable(plot)
    chosen = [named_or_loaded(name.strip()) for name in profiles.split(",") if name.strip()]
    at = moment("--as-of", as_of)
    with repository(database_url, schema) as repo, complaints.status("ranking"):
        found = repo.evaluate(
            agent,
            queries_of(repo, agent, file),
            profiles=chosen,
            k=k,
            min_score=min_score,
            min_similarity=min_similarity,
            teams=team or (),
            as_of=at,
            seed=seed,
        )
    if json:
        print_json(found.record())
    else:
        print_evaluation(found)
        warn_of_missing(found.missing, agent)
    if plot is not None:  # last, so that a chart that fails costs nothing but itself
        chart.draw(found, plot)


def warn_of_missing(missing: int, agent: str) -> None:
    """Says how many relevant memories the agent does not have, if any."""
    if missing:
        complaints.print(
            f"{missing:,} relevant memories are not among those of {plain(agent)}; "
            "they count as not found",
            style="yellow",
            markup=False,
        )


def print_evaluation(found: Evaluation) -> None:
    """A table of all queries, and one of each group."""
    _print("all queries", found, [(one, one.overall) for one in found.profiles])
    for group in found.profiles[0].by_group:
        _print(group, found, [(one, one.by_group[group]) for one in found.profiles])


def _print(title: str, found: Evaluation, rows: list[tuple[ProfileEvaluation, Scores]]) -> None:
    queries = rows[0][1].queries
    table = Table(title=Text(f"{plain(title)}: {queries:,}"), title_justify="left", show_edge=False)
    table.add_column("profile")
    names = {"recall": f"recall@{found.k}", "mrr": "MRR", "ndcg": f"nDCG@{found.k}"}
    for metric in METRICS:
        table.add_column(names[metric], justify="right", no_wrap=True)
        if len(rows) > 1:
            table.add_column("± first", justify="right", no_wrap=True)
    for one, scores in rows:
        cells: list[Text | str] = []
        for metric in METRICS:
            cells.append(f"{scores.means[metric]:.3f}")
            if len(rows) > 1:
                cells.append(_difference(scores, metric))
        table.add_row(Text(plain(one.profile.name)), *cells)
    console.print(table)


def _difference(scores: Scores, metric: str) -> Text:
    if metric not in scores.differences:
        return Text("")
    difference = scores.differences[metric]
    color = "" if not difference.is_clear else "green" if difference.mean > 0 else "red"
    return Text(
        f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]", style=color
    )
