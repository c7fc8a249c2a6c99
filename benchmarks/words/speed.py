"""What the words cost: exact search, and search through the rank index."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.contenders import K
from benchmarks.index.approaches import Approaches
from benchmarks.index.asking import Asked, Question
from benchmarks.index.comparison import Outcome, compared_together
from benchmarks.index.databases import Databases
from benchmarks.index.meanings import Meanings
from benchmarks.index.setting import AGENT, Setting
from benchmarks.words.texts import WordedMemories
from pgrecall import profiles

EXACT_ROWS, INDEX_ROWS = 10_000, 100_000
EXACT_GOAL, INDEX_GOAL, RECALL_GOAL = 2.0, 2.0, 0.98


@dataclass(frozen=True)
class Cost:
    """Of hybrid beside another profile, on the same memories and questions."""

    data: str
    beside: str
    strategy: str
    hybrid: Outcome
    other: Outcome
    times: float
    """Median of the ratios within a round."""

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return {
            "data": self.data,
            "beside": self.beside,
            "strategy": self.strategy,
            "hybrid": self.hybrid.record(),
            "other": self.other.record(),
            "times": round(self.times, 3),
        }


def measured(setting: Setting, databases: Databases, progress: Progress) -> list[Cost]:
    """Exact on 10,000 memories of one agent, through the index on 100,000 of two kinds."""
    found = list(_costs(setting, databases, progress, EXACT_ROWS, Meanings.TOPICS, "exact"))
    for meanings in Meanings:
        found += _costs(setting, databases, progress, INDEX_ROWS, meanings, "rank index")
    return found


def _costs(
    setting: Setting,
    databases: Databases,
    progress: Progress,
    rows: int,
    meanings: Meanings,
    strategy: str,
) -> list[Cost]:
    agents = ((AGENT, setting.rows(rows)),)
    indexed = (AGENT,) if strategy != "exact" else ()
    source = WordedMemories(agents, indexed, setting.now, setting.seed, meanings=meanings)
    loaded = databases.prepared(source, progress)
    others = (profiles.five_factor,)
    with ExitStack() as stack:
        approaches = Approaches(loaded, stack)
        groups = {
            profile.name: approaches.ours(Asked(AGENT, profile, {}))
            for profile in (profiles.hybrid, *others)
        }
        questions: list[Question] = source.questions(setting.rounds)
        outcomes = compared_together(groups, questions, progress, source.name)
    hybrid = outcomes["hybrid"][strategy]
    databases.keep_only([])
    return [
        Cost(
            source.name,
            other.name,
            strategy,
            hybrid,
            outcomes[other.name][strategy],
            hybrid.timing.over(outcomes[other.name][strategy].timing),
        )
        for other in others
    ]


def print_costs(console: Console, costs: list[Cost]) -> None:
    table = Table(title="what words cost", title_justify="left")
    for column in ("memories", "search", "beside"):
        table.add_column(column)
    for column in ("hybrid ms", "other ms", "times", "goal", f"recall@{K}", "goal"):
        table.add_column(column, justify="right")
    for cost in costs:
        goal = EXACT_GOAL if cost.strategy == "exact" else INDEX_GOAL
        is_exact = cost.strategy == "exact"
        table.add_row(
            cost.data,
            cost.strategy,
            cost.beside,
            f"{cost.hybrid.timing.median * 1000:.2f}",
            f"{cost.other.timing.median * 1000:.2f}",
            f"{cost.times:.2f}",
            f"≤ {goal:g}",
            f"{cost.hybrid.recall:.3f}",
            "" if is_exact else f"≥ {RECALL_GOAL:g}",
        )
    console.print(table)
