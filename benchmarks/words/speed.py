"""What the words cost: exact search, and search through the rank index."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.contenders import K
from benchmarks.index.approaches import EXACT, INDEX, Approaches
from benchmarks.index.asking import Asked
from benchmarks.index.comparison import Outcome, compared_together
from benchmarks.index.databases import Databases
from benchmarks.index.meanings import Meanings
from benchmarks.index.setting import AGENT, Setting
from benchmarks.words.texts import WordedMemories
from pgrecall import profiles

EXACT_ROWS, INDEX_ROWS = 10_000, 100_000
EXACT_GOAL, INDEX_GOAL, RECALL_GOAL = 1.2, 2.0, 0.98


@dataclass(frozen=True)
class Cost:
    """Of hybrid beside five_factor, which has no words, on the same memories and questions."""

    data: str
    strategy: str
    hybrid: Outcome
    five_factor: Outcome
    times: float
    """Median of the ratios within a round."""

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return {
            "data": self.data,
            "strategy": self.strategy,
            "hybrid": self.hybrid.record(),
            "five_factor": self.five_factor.record(),
            "times": round(self.times, 3),
        }


def measured(setting: Setting, databases: Databases, progress: Progress) -> list[Cost]:
    """Exact on 10,000 memories of one agent, through the index on 100,000 of two kinds."""
    cases = [
        (EXACT_ROWS, Meanings.TOPICS, EXACT),
        *((INDEX_ROWS, meanings, INDEX) for meanings in Meanings),
    ]
    return [_cost(setting, databases, progress, *case) for case in cases]


def _cost(
    setting: Setting,
    databases: Databases,
    progress: Progress,
    rows: int,
    meanings: Meanings,
    strategy: str,
) -> Cost:
    agents = ((AGENT, setting.rows(rows)),)
    indexed = (AGENT,) if strategy == INDEX else ()
    source = WordedMemories(agents, indexed, setting.now, setting.seed, meanings=meanings)
    loaded = databases.prepared(source, progress)
    with ExitStack() as stack:
        approaches = Approaches(loaded, stack)
        groups = {
            profile.name: approaches.ours(Asked(AGENT, profile, {}))
            for profile in (profiles.hybrid, profiles.five_factor)
        }
        questions = source.questions(setting.rounds)
        outcomes = compared_together(groups, questions, progress, source.name)
    databases.keep_only([])
    hybrid, other = (outcomes[name][strategy] for name in groups)
    return Cost(source.name, strategy, hybrid, other, hybrid.timing.over(other.timing))


def print_costs(console: Console, costs: list[Cost]) -> None:
    table = Table(title="what words cost", title_justify="left")
    for column in ("memories", "search"):
        table.add_column(column)
    for column in ("hybrid ms", "five_factor ms", "times", "goal", f"recall@{K}", "goal"):
        table.add_column(column, justify="right")
    for cost in costs:
        is_exact = cost.strategy == EXACT
        goal = EXACT_GOAL if is_exact else INDEX_GOAL
        table.add_row(
            cost.data,
            cost.strategy,
            f"{cost.hybrid.timing.median * 1000:.2f}",
            f"{cost.five_factor.timing.median * 1000:.2f}",
            f"{cost.times:.2f}",
            f"≤ {goal:g}",
            f"{cost.hybrid.recall:.3f}",
            "" if is_exact else f"≥ {RECALL_GOAL:g}",
        )
    console.print(table)
