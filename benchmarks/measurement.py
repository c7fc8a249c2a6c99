"""Measurement: one number, what it is of, and the goal where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Measurement:
    """`goal` bounds the value from above, or from below where `at_least`."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    at_least: bool = False

    @property
    def bound(self) -> str:
        if self.goal is None:
            return ""
        return f"{'≥' if self.at_least else '≤'} {self.goal:g}"

    @property
    def met(self) -> str:
        if self.goal is None:
            return ""
        met = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "[green]yes[/]" if met else "[red]no[/]"


def print_table(console: Console, title: str, measurements: Sequence[Measurement]) -> None:
    table = Table(title=title, title_justify="left", min_width=78)
    table.add_column("", ratio=1)
    for name in ("", "unit", "goal", "met"):
        table.add_column(name, justify="right")
    for one in measurements:
        digits = 0 if one.value >= 1000 else 2
        table.add_row(one.what, f"{one.value:,.{digits}f}", one.unit, one.bound, one.met)
    console.print(table)
