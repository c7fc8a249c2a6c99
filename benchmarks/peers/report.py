"""The tables for people."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.table import Table

from benchmarks.peers.rounds import Compared


def print_results(console: Console, found: Compared) -> None:
    for (setting, size), searches in groupby(
        found.searches, lambda one: (one.setting, one.memories)
    ):
        columns = ("median, ms", "95 %", "× ours", "recall@10", "returned")
        table = _table(f"{setting}: agents of {size:,}", columns)
        for one in searches:
            table.add_row(
                one.by,
                f"{one.median_ms:.2f}",
                f"{one.p95_ms:.2f}",
                f"{one.over_ours:.2f}",
                f"{one.recall:.2f}",
                f"{one.returned:.1f}",
            )
        console.print(table)
    for setting, stores in groupby(found.stores, lambda one: one.setting):
        table = _table(setting, ("written a second", "bytes a memory"))
        for store in stores:
            table.add_row(
                store.by, f"{store.written_per_second:,.0f}", f"{store.bytes_per_memory:,.0f}"
            )
        console.print(table)


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", min_width=78)
    table.add_column("", ratio=1)
    for name in columns:
        table.add_column(name, justify="right")
    return table
