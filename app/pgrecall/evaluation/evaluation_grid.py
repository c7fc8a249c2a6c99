"""The tables of an evaluation: profiles by metrics, and floors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pgrecall.core.display import Cell, Column, Grid, numbers

if TYPE_CHECKING:
    from pgrecall.evaluation.results import Evaluation, ProfileEvaluation, Scores

_ALL = "all queries"
STEP = 0.05
"""The distance between two values of min_relevance that are shown."""


def metric_names(k: int) -> dict[str, str]:
    """The metrics as they are shown."""
    return {"recall": f"recall@{k}", "mrr": "MRR", "ndcg": f"nDCG@{k}"}


def evaluation_grids(evaluation: Evaluation) -> list[Grid]:
    """A table of all queries, and one of each group."""
    compared = evaluation.compared
    grids = [_grid(_ALL, evaluation, [(one, one.overall) for one in compared])]
    for group in evaluation.profiles[0].by_group:
        grids.append(_grid(group, evaluation, [(one, one.by_group[group]) for one in compared]))
    return grids


def _grid(
    title: str, evaluation: Evaluation, rows: Sequence[tuple[ProfileEvaluation, Scores]]
) -> Grid:
    """The profiles, and below a line the baselines."""
    first = rows[0][1]
    title += f": {first.queries:,}"
    if first.owners > 1:
        unit = {"owners": "agents", "queries": "queries"}[first.intervals_over]
        title += f" of {first.owners:,} agents, intervals over {unit}"
    if evaluation.not_reranked and title.startswith(_ALL):
        title += f"; {evaluation.not_reranked:,} rankings were not reranked in time, or at all"
    compares = len(rows) > 1
    names = metric_names(evaluation.k)
    columns = [Column("profile")]
    for name in names.values():
        columns += numbers(name, *(["± first"] if compares else []))
    cells = [(one.profile.name, *_cells(scores, names, compares=compares)) for one, scores in rows]
    line_after = len(evaluation.profiles) - 1 if evaluation.baselines else None
    return Grid(columns, cells, title, line_after)


def _cells(scores: Scores, metrics: Iterable[str], *, compares: bool) -> list[str | Cell]:
    cells: list[str | Cell] = []
    for metric in metrics:
        cells.append(f"{scores.means[metric]:.3f}")
        if compares:
            cells.append(_difference(scores, metric))
    return cells


def _difference(scores: Scores, metric: str) -> str | Cell:
    if metric not in scores.differences:
        return ""
    one = scores.differences[metric]
    text = f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
    return Cell(text, ("good" if one.mean > 0 else "bad") if one.is_clear else "")


def floor_grids(evaluation: Evaluation) -> list[Grid]:
    """A table of min_relevance by STEP, with the profile's, as far as memories are found."""
    profile = evaluation.profiles[0].profile
    rows = []
    for floor in evaluation.floors or ():
        is_own = floor.min_relevance == profile.min_relevance
        if is_own or not round(floor.min_relevance * 1e6) % round(STEP * 1e6):
            shown = (floor.min_relevance, floor.silent, floor.lost, floor.precision, floor.recall)
            cells = ["" if number is None else f"{number:.3f}" for number in shown]
            rows.append((*cells, "the profile's" if is_own else ""))
        if floor.silent == 1 and floor.lost == 1:
            break
    silent = ("nothing found, no answer", "nothing found, answer")
    columns = numbers("min_relevance", *silent, "precision", f"recall@{evaluation.k}", "")
    return [Grid(columns, rows, f"min_relevance, by {profile.name}")] if rows else []
