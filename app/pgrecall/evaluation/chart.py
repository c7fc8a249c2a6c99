"""Charts of evaluations, as PNG or SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pgrecall.errors import ExtraMissing, InputError
from pgrecall.evaluation.evaluation_grid import metric_names
from pgrecall.evaluation.results import METRICS, Evaluation, Scores

FORMATS = (".png", ".svg")
LONGEST_NAME = 30
MAX_HEIGHT = 60.0
"""The greatest height in inches: matplotlib draws at most 65,536 pixels. More bars are thinner."""
FIRST = "_of all queries"
"""Label of bars that the legend does not show."""


def require_drawable(path: Path) -> None:
    """Raises in advance what `draw` would raise, as far as that can be known."""
    require_format(path)
    _figure()


def require_format(path: Path) -> None:
    """Raises InputError unless the file is a PNG or SVG in an existing folder."""
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder")
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: the name of a chart must end in {' or '.join(FORMATS)}")


def draw(evaluation: Evaluation, path: Path) -> None:
    """Writes a bar chart of each metric by profile, for all queries and by group.

    Error bars show the interval of the difference to the first profile. Raises ExtraMissing without
    matplotlib, and InputError for another file type or if the file cannot be written.
    """
    require_format(path)
    figure_of = _figure()
    names = metric_names(evaluation.k)
    sets = ["all queries", *next(iter(evaluation.compared)).by_group]
    height = min(1.2 + 0.32 * _rows(evaluation, sets), MAX_HEIGHT)
    figure = figure_of(figsize=(4.2 * len(METRICS), height))
    axes = figure.subplots(1, len(METRICS), sharey=True)
    for axis, metric in zip(axes, METRICS, strict=True):
        _bars(axis, evaluation, sets, metric)
        axis.set_title(names[metric])
        axis.set_xlim(0, 1)
    bars = [container[0] for container in axes[0].containers if container.get_label() == FIRST]
    labels = [_shown(one.profile.name) for one in evaluation.compared]
    figure.legend(bars, labels, loc="lower center", ncols=min(len(labels), 5), frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error


def _bars(axis: Any, evaluation: Evaluation, sets: list[str], metric: str) -> None:
    number = len(evaluation.compared)
    height = 0.8 / number
    for place, one in enumerate(evaluation.compared):
        for row, name in enumerate(sets):
            scores = one.overall if row == 0 else one.by_group[name]
            mean = scores.means[metric]
            at = row + (place - (number - 1) / 2) * height
            label = FIRST if row == 0 else None
            error = _error(scores, metric)
            axis.barh(at, mean, height, color=f"C{place}", label=label, xerr=error, capsize=2)
    axis.set_yticks(range(len(sets)), [_shown(name) for name in sets])
    axis.set_ylim(len(sets) - 0.4, -0.6)


def _error(scores: Scores, metric: str) -> list[list[float]] | None:
    """The distances from the mean to both ends of the interval of the difference."""
    if metric not in scores.differences:
        return None
    difference = scores.differences[metric]
    below, above = difference.mean - difference.low, difference.high - difference.mean
    return [[max(below, 0.0)], [max(above, 0.0)]]


def _shown(name: str) -> str:
    """A shortened name on one line, without the $ that begins mathematics in matplotlib."""
    line = " ".join(name.split())
    short = line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")


def _rows(evaluation: Evaluation, sets: list[str]) -> int:
    return max(len(evaluation.compared) * len(sets), 5)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise ExtraMissing("a chart needs matplotlib: pip install 'pgrecall[chart]'") from problem
    return Figure
