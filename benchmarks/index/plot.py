"""The plot: recall against time for each approach, one panel per case."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from benchmarks.index.approaches import (
    EXACT,
    INDEX,
    ITERATIVE,
    ITERATIVE_SCAN,
    OF_CURVE,
    PEERS,
)
from benchmarks.index.comparison import Comparison, Outcome

COLUMNS = 2
OURS, THEIRS, SCAN, ALL = "#0b6e4f", "#c1440e", "#7b5ea7", "#444444"


def pyplot() -> Any:
    """Matplotlib, drawing into files; raises typer.BadParameter where it is not installed."""
    try:
        importlib.import_module("matplotlib").use("agg")
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as problem:
        raise typer.BadParameter("--plot needs matplotlib: pip install matplotlib") from problem


def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Those comparisons that are to be plotted; nothing without any."""
    plotted = [comparison for comparison in comparisons if comparison.plotted]
    if not plotted:
        return
    plt = pyplot()
    columns = min(COLUMNS, len(plotted))
    rows = -(-len(plotted) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5.4 * columns, 4.2 * rows), squeeze=False)
    for axis in axes.flat[len(plotted) :]:
        axis.set_visible(False)
    for axis, comparison in zip(axes.flat, plotted, strict=False):
        _draw_panel(axis, comparison)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_panel(axis: Any, comparison: Comparison) -> None:
    outcomes = comparison.outcomes
    curve = {number: outcomes[name] for name, number in OF_CURVE.items()}
    peers = {number: outcomes[name] for name, number in PEERS.items()}
    _line(axis, curve, "rank index, by candidates", OURS, above=False)
    chosen = outcomes[INDEX]
    axis.plot(
        [chosen.timing.median * 1000],
        [chosen.recall],
        marker="o",
        markersize=13,
        markerfacecolor="none",
        linestyle="none",
        color=OURS,
        label="as many as the build measured",
    )
    _line(axis, peers, "nearest by cosine, re-ranked", THEIRS, above=True)
    scan = {ITERATIVE: outcomes[ITERATIVE_SCAN]}
    _line(axis, scan, "iterative scan, re-ranked", SCAN, above=False)
    _line(axis, {0: outcomes[EXACT]}, "exact", ALL, above=False)
    title = comparison.data
    if comparison.question != "five_factor":
        title = f"{comparison.question}, {title}"
    axis.set_title(title, fontsize=10)
    _label_times(axis)
    axis.set_ylim(-0.05, 1.1)
    axis.set_xlabel("median time, milliseconds")
    axis.set_ylabel("recall@10 of the composite score")
    axis.grid(visible=True, which="both", alpha=0.2)


def _label_times(axis: Any) -> None:
    ticker = importlib.import_module("matplotlib.ticker")
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5, 7)))
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_locator(ticker.NullLocator())


def _line(axis: Any, points: dict[int, Outcome], label: str, colour: str, *, above: bool) -> None:
    times = [outcome.timing.median * 1000 for outcome in points.values()]
    recalls = [outcome.recall for outcome in points.values()]
    axis.plot(times, recalls, marker="o", color=colour, label=label)
    for number, time, recall in zip(points, times, recalls, strict=True):
        if number:
            axis.annotate(
                f"{number:,}",
                (time, recall),
                textcoords="offset points",
                xytext=(0, 7 if above else -7),
                ha="center",
                va="bottom" if above else "top",
                rotation=0 if above else 90,
                fontsize=8 if above else 7,
                color=colour,
            )
