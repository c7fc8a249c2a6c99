"""Cases: what is measured, and on which memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.progress import Progress

from benchmarks.index import filters, growth, real, several, single, use
from benchmarks.index.comparison import Comparison
from benchmarks.index.databases import Databases, Source
from benchmarks.index.setting import Setting


@dataclass(frozen=True)
class Case:
    title: str
    sources: Callable[[Setting], Sequence[Source]]
    """Whose databases it asks."""
    run: Callable[[Setting, Databases, Progress], list[Comparison]]


CASES = {
    1: Case("one agent of 100,000 memories", single.sources, single.run),
    2: Case("agents of 10,000 to 100,000 in one table", several.sources, several.run),
    3: Case("real passages", real.sources, real.run),
    4: Case("1,536 dimensions, halfvec", single.wide_sources, single.run_wide),
    5: Case("growth of one agent", growth.sources, growth.run),
    6: Case("filters and teams", filters.sources, filters.run),
    7: Case("from how many memories on", growth.small_sources, growth.run_small),
    8: Case("a month of use", use.sources, use.run),
}
