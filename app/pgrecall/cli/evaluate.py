"""pgrecall evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.embedding import EmbedsTexts
from pgrecall.cli.judged import (
    Judging,
    QueriesFile,
    Recorded,
    missing_noted,
    queries_of,
    require_source,
)
from pgrecall.cli.options import Profiles
from pgrecall.cli.output import Output, require_writable, right, table, working
from pgrecall.cli.written import option
from pgrecall.errors import PgRecallError
from pgrecall.evaluation import chart
from pgrecall.evaluation.floors import Floor
from pgrecall.evaluation.results import METRICS, Evaluation, ProfileEvaluation, Scores
from pgrecall.scoring.profiles import BUILT_IN

STEP = 0.05
"""Between two floors that are shown."""

app = App(panel="Choose a profile")


class Measuring(Judging, total=False):
    """The arguments of `evaluate`."""

    min_score: float
    min_similarity: float


@app.declare(
    "pgrecall evaluate queries.jsonl --agent zoe -p five_factor -p hybrid",
    "pgrecall evaluate --recorded --agent zoe --plot chart.png",
)
def evaluate(
    repo: EmbedsTexts,
    file: QueriesFile = None,
    recorded: Recorded = False,
    profiles: Profiles = None,
    plot: Annotated[Path | None, option("Draw a chart, too: .png or .svg.")] = None,
    **options: Unpack[Measuring],
) -> Output:
    """Measure how well profiles find the memories that answer judged queries.

    recall@k is the share of the relevant memories among the first k. MRR is the mean of 1 / the
    rank of the first relevant memory. nDCG@k is 1 for the best possible order. Every profile is
    compared with the first: the difference has a 95 % interval, and a color where it is clear.
    Similarity alone, keyword alone and hybrid are always measured, too.

    Queries that name no relevant memory show what each min_relevance does: how many of them find
    nothing, and how much recall that costs.
    """
    require_source(file, recorded=recorded)
    if plot is not None:
        chart.require_drawable(plot)
        require_writable(plot)
    agents = options.get("agents", ())
    with working("ranking"):
        queries = queries_of(repo, agents, file)
        compared = profiles or list(BUILT_IN.values())
        found = repo.evaluation.evaluate(None, queries, profiles=compared, **options)
    return Output(
        [found.record()],
        *evaluation_shown(found),
        *floors_shown(found),
        notes=[Text(one, style="yellow") for one in missing_noted(found.missing, agents)],
        problem=None if plot is None else _problem_drawing(found, plot),
    )


def _problem_drawing(found: Evaluation, plot: Path) -> PgRecallError | None:
    """Draws; what is wrong waits until the results are printed."""
    try:
        chart.draw(found, plot)
    except PgRecallError as problem:
        return problem
    return None


def evaluation_shown(found: Evaluation) -> list[RenderableType]:
    """A table of all queries, and one of each group."""
    groups = found.profiles[0].by_group
    return [
        _table("all queries", found, [(one, one.overall) for one in found.compared]),
        *(_table(name, found, [(o, o.by_group[name]) for o in found.compared]) for name in groups),
    ]


def floors_shown(found: Evaluation) -> list[RenderableType]:
    """A table of floors by STEP, and the profile's, as far as they leave anything."""
    profile = found.profiles[0].profile
    rows = []
    for one in found.floors or ():
        is_own = one.min_relevance == profile.min_relevance
        if is_own or not round(one.min_relevance * 1e6) % round(STEP * 1e6):
            rows.append((*_floor(one), "the profile's" if is_own else ""))
        if one.silent == 1 and one.lost == 1:
            break
    silent = ("nothing found, no answer", "nothing found, answer")
    columns = right("min_relevance", *silent, "precision", f"recall@{found.k}", "")
    title = f"min_relevance, by {profile.name}"
    return [table(*columns, rows=rows, title=title)] if rows else []


def _floor(floor: Floor) -> list[str]:
    values = (floor.min_relevance, floor.silent, floor.lost, floor.precision, floor.recall)
    return ["" if value is None else f"{value:.3f}" for value in values]


def _table(title: str, found: Evaluation, rows: list[tuple[ProfileEvaluation, Scores]]) -> Table:
    """The profiles, and below a line the baselines."""
    of_all = rows[0][1]
    said = f"{title}: {of_all.queries:,}"
    if of_all.owners > 1:
        over = {"owners": "agents", "queries": "queries"}[of_all.intervals_over]
        said += f" of {of_all.owners:,} agents, intervals over {over}"
    names = {"recall": f"recall@{found.k}", "mrr": "MRR", "ndcg": f"nDCG@{found.k}"}
    columns = [
        column
        for metric in METRICS
        for column in right(names[metric], *(["± first"] if len(rows) > 1 else []))
    ]
    cells = [(one.profile.name, *_cells(scores, len(rows))) for one, scores in rows]
    shown = table("profile", *columns, rows=cells, title=said)
    shown.rows[len(found.profiles) - 1].end_section = True
    return shown


def _cells(scores: Scores, several: int) -> list[Text | str]:
    cells: list[Text | str] = []
    for metric in METRICS:
        cells.append(f"{scores.means[metric]:.3f}")
        if several > 1:
            cells.append(_difference(scores, metric))
    return cells


def _difference(scores: Scores, metric: str) -> Text:
    if metric not in scores.differences:
        return Text("")
    difference = scores.differences[metric]
    color = "" if not difference.is_clear else "green" if difference.mean > 0 else "red"
    return Text(
        f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]", style=color
    )
