"""Comparisons and verdicts as tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table

from benchmarks.index.approaches import EXACT
from benchmarks.index.comparison import Comparison
from benchmarks.index.databases import Built
from benchmarks.index.goals import COST, FASTER, FULL, RECALL, Verdict
from benchmarks.index.verdicts import GROWTH_CASE, cost

WIDTH = 78


def print_indexes(console: Console, indexes: Sequence[Built]) -> None:
    for one in indexes:
        index = one.index
        console.print(
            f"{one.data}: {index.memories:,} memories of {index.agent_id!r} "
            f"indexed in {index.seconds:.0f} s",
            highlight=False,
        )


def print_comparisons(console: Console, comparisons: Sequence[Comparison]) -> None:
    for data, found in groupby(comparisons, key=lambda comparison: comparison.data):
        console.print(_compared(data, list(found)))
    if comparisons and comparisons[0].case == GROWTH_CASE:
        console.print(_grown(comparisons))


def print_verdicts(console: Console, verdicts: Sequence[Verdict]) -> None:
    table = Table(title="goals", title_justify="left", min_width=WIDTH)
    table.add_column("", ratio=1)
    for name in (RECALL, FASTER, f"{FULL}, {COST}"):
        table.add_column(name, justify="right")
    for (case, data), of_data in groupby(verdicts, key=lambda one: (one.case, one.data)):
        table.add_section()
        table.add_row(f"[bold]{case}. {data}[/]")
        for question, found in groupby(of_data, key=lambda one: one.question):
            cells = {one.measure: _judged(one) for one in found}
            more = cells.get(FULL) or cells.get(COST, "")
            table.add_row(f"  {question}", cells.get(RECALL, ""), cells.get(FASTER, ""), more)
    console.print(table)


def _judged(one: Verdict) -> str:
    digits = {RECALL: 3, FASTER: 1}.get(one.measure, 2)
    colour, met = ("green", "yes") if one.is_met else ("red", "no")
    return f"{one.value:.{digits}f} {one.goal} [{colour}]{met}[/]"


def _compared(data: str, comparisons: Sequence[Comparison]) -> Table:
    table = Table(title=data, title_justify="left", min_width=WIDTH)
    table.add_column("", ratio=1)
    for name in ("recall@10", "times\nfaster", "median\nms", "full\nrows", "by the\nindex"):
        table.add_column(name, justify="right")
    for comparison in comparisons:
        table.add_section()
        table.add_row(f"[bold]{comparison.question}[/]")
        for name, outcome in comparison.outcomes.items():
            table.add_row(
                f"  {name}",
                f"{outcome.recall:.3f}",
                "" if name == EXACT else f"{outcome.faster:.1f}",
                f"{outcome.timing.median * 1000:.2f}",
                _percent(outcome.full),
                _percent(outcome.in_index) if outcome.in_index else "",
            )
    return table


def _grown(comparisons: Sequence[Comparison]) -> Table:
    smallest = comparisons[0]
    title = f"time, relative to {smallest.question} {smallest.data}"
    table = Table(title=title, title_justify="left", min_width=WIDTH)
    table.add_column("", ratio=1)
    for comparison in comparisons:
        table.add_column(comparison.question, justify="right")
    for name in smallest.outcomes:
        costs = (cost(comparison, smallest, name) for comparison in comparisons)
        table.add_row(name, *(f"{times:.2f}" for times in costs))
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
