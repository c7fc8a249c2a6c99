"""Measurements as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.goals import GOALS, Goal
from benchmarks.measuring import Timing

Results = Mapping[str, Mapping[str, Timing]]
"""How the rows lie → contender → its timing."""

_MET = {True: "[green]yes[/]", False: "[red]no[/]", None: ""}


def print_tables(console: Console, results: Results) -> None:
    for layout, timings in results.items():
        console.print(_timings(layout, timings))
        console.print(_ratios(timings))


def _timings(layout: str, timings: Mapping[str, Timing]) -> Table:
    table = Table(title=layout, title_justify="left", min_width=72)
    table.add_column("milliseconds", ratio=1)
    for name in ("fastest", "median", "90 %"):
        table.add_column(name, justify="right")
    for contender, timing in timings.items():
        values = (timing.fastest, timing.median, timing.slow)
        table.add_row(contender, *(f"{value * 1000:.2f}" for value in values))
    return table


def _ratios(timings: Mapping[str, Timing]) -> Table:
    table = Table(min_width=72)
    table.add_column("median ratio within a round", ratio=1)
    for name in ("ratio", "goal"):
        table.add_column(name, justify="right")
    table.add_column("met")
    for goal in _goals(timings):
        ratio = goal.ratio(timings)
        table.add_row(goal.what, f"{ratio:.2f}", goal.bound, _MET[goal.is_met(ratio)])
    return table


def _goals(timings: Mapping[str, Timing]) -> list[Goal]:
    """Those whose contenders took part."""
    return [goal for goal in GOALS if {goal.numerator, goal.denominator} <= timings.keys()]


def as_json(results: Results, **conditions: Any) -> dict[str, Any]:
    return conditions | {
        "layouts": [
            {
                "layout": layout,
                "milliseconds": {
                    name: {
                        "fastest": round(timing.fastest * 1000, 3),
                        "median": round(timing.median * 1000, 3),
                        "p90": round(timing.slow * 1000, 3),
                    }
                    for name, timing in timings.items()
                },
                "goals": [
                    {
                        "what": goal.what,
                        "ratio": round(ratio, 3),
                        "goal": goal.bound,
                        "met": goal.is_met(ratio),
                    }
                    for goal in _goals(timings)
                    for ratio in [goal.ratio(timings)]
                ],
            }
            for layout, timings in results.items()
        ]
    }
