"""pgrecall evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agents, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.floor_table import Precision, print_floors
from pgrecall.cli.judged import QueriesFile, Recorded, Seed, queries_of, require_source
from pgrecall.cli.options import AsOf, Dates, MinScore, MinSimilarity, Teams
from pgrecall.cli.output import complaints, console, plain, print_json, require_writable
from pgrecall.cli.profile_commands import named_or_loaded
from pgrecall.cli.times import moment
from pgrecall.core.quoting import listed
from pgrecall.evaluation import chart
from pgrecall.evaluation.results import METRICS, Evaluation, ProfileEvaluation, Scores
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import BUILT_IN

app = App(panel="Choose by evidence")


PROFILES = ",".join(BUILT_IN)


@app.command()
def evaluate(
    agents: Agents = None,
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
    precision: Precision = None,
    dates: Dates = None,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw a chart: .png or .svg.", show_default=False)
    ] = None,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Measure how well profiles find what answers judged queries.

    recall@k is the share of the relevant memories among the first k, MRR the mean of 1 / the rank
    of the first one, nDCG@k what the order is worth. Similarity alone, keyword alone and hybrid are
    always measured too, below a line. Differences to the first profile come with an interval that
    holds them with 95 %, colored where it leaves out 0 over ten queries or more; from five agents
    on it is over agents, each with all its queries.

    Queries that name no relevant memory show what each min_relevance does: how many of them return
    nothing, and what recall it costs. --plot draws that into a second file, NAME-floors.
    """
    require_source(file, recorded=recorded)
    if plot is not None:
        chart.require_drawable(plot)
        require_writable(plot)
    chosen = [named_or_loaded(name.strip()) for name in profiles.split(",") if name.strip()]
    at = moment("--as-of", as_of)
    with repository(database_url, schema) as repo, complaints.status("ranking"):
        found = repo.evaluation.evaluate(
            None,
            queries_of(repo, agents, file),
            agents=agents,
            profiles=chosen,
            k=k,
            min_score=min_score,
            min_similarity=min_similarity,
            teams=team or (),
            as_of=at,
            dates=dates,
            seed=seed,
        )
    if json:
        print_json(found.record())
    else:
        print_evaluation(found)
        print_floors(found.floors, precision)
        warn_of_missing(found.missing, agents)
    if plot is not None:  # last, so that a chart that fails costs nothing but itself
        chart.draw(found, plot)
        if found.floors is not None:
            chart.draw_floors(found.floors, plot.with_stem(f"{plot.stem}-floors"))


def warn_of_missing(missing: int, agents: list[str] | None) -> None:
    """Says how many relevant memories the agents do not have, if any."""
    if missing:
        complaints.print(
            f"{missing:,} relevant memories are not among those of {_whose(agents)}; "
            "they count as not found",
            style="yellow",
            markup=False,
        )


def _whose(agents: list[str] | None) -> str:
    return plain(listed(agents)) if agents else "the agents that the queries name"


def print_evaluation(found: Evaluation) -> None:
    """A table of all queries, and one of each group."""
    _print("all queries", found, [(one, one.overall) for one in found.compared])
    for group in found.profiles[0].by_group:
        _print(group, found, [(one, one.by_group[group]) for one in found.compared])


def _print(title: str, found: Evaluation, rows: list[tuple[ProfileEvaluation, Scores]]) -> None:
    """The profiles, and below a line the baselines."""
    of_all = rows[0][1]
    said = f"{plain(title)}: {of_all.queries:,}"
    if of_all.owners > 1:
        said += f" of {of_all.owners:,} agents, intervals over {_OVER[of_all.intervals_over]}"
    table = Table(title=Text(said), title_justify="left", show_edge=False)
    table.add_column("profile")
    names = {"recall": f"recall@{found.k}", "mrr": "MRR", "ndcg": f"nDCG@{found.k}"}
    for metric in METRICS:
        table.add_column(names[metric], justify="right", no_wrap=True)
        if len(rows) > 1:
            table.add_column("± first", justify="right", no_wrap=True)
    for number, (one, scores) in enumerate(rows):
        if number == len(found.profiles):
            table.add_section()
        cells: list[Text | str] = []
        for metric in METRICS:
            cells.append(f"{scores.means[metric]:.3f}")
            if len(rows) > 1:
                cells.append(_difference(scores, metric))
        table.add_row(Text(plain(one.profile.name)), *cells)
    console.print(table)


_OVER = {"owners": "agents", "queries": "queries"}


def _difference(scores: Scores, metric: str) -> Text:
    if metric not in scores.differences:
        return Text("")
    difference = scores.differences[metric]
    color = "" if not difference.is_clear else "green" if difference.mean > 0 else "red"
    return Text(
        f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]", style=color
    )
