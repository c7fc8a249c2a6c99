"""Growth: the same questions to agents of more and more memories, in the same rounds."""

from __future__ import annotations

from contextlib import ExitStack

from rich.progress import Progress

from benchmarks.index.approaches import Approaches
from benchmarks.index.asking import Asked
from benchmarks.index.comparison import Comparison, compared_together
from benchmarks.index.databases import Databases
from benchmarks.index.goals import GROWN, Goal
from benchmarks.index.memories import Memories
from benchmarks.index.setting import AGENT, Setting
from benchmarks.index.verdicts import GROWTH_CASE, SMALL_CASE
from pgrecall import profiles

SIZES = (50_000, 100_000, 200_000, 400_000)
SMALL_SIZES = (1_000, 2_500, 5_000, 10_000)
"""From which of these on an index is worth having?"""


def sources(setting: Setting) -> list[Memories]:
    return [setting.one_agent(rows) for rows in SIZES]


def small_sources(setting: Setting) -> list[Memories]:
    return [setting.one_agent(rows) for rows in SMALL_SIZES]


def run(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    return _compared(GROWTH_CASE, sources(setting), GROWN, setting, databases, progress)


def run_small(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    return _compared(SMALL_CASE, small_sources(setting), None, setting, databases, progress)


def _compared(
    case: int,
    memories: list[Memories],
    goal: Goal | None,
    setting: Setting,
    databases: Databases,
    progress: Progress,
) -> list[Comparison]:
    asked = Asked(AGENT, profiles.five_factor, {})
    grown = {f"{source.total:,}": source for source in memories}
    questions = next(iter(grown.values())).questions(setting.rounds)
    with ExitStack() as stack:
        groups = {
            name: Approaches(databases.prepared(source, progress), stack).all(asked)
            for name, source in grown.items()
        }
        outcomes = compared_together(groups, questions, progress, "growth")
    return [
        Comparison(case, "memories of one agent", name, outcomes[name], goal) for name in groups
    ]
