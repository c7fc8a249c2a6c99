"""Growth: the same questions to agents of more and more memories, in the same rounds."""

from __future__ import annotations

from contextlib import ExitStack

from rich.progress import Progress

from benchmarks.index.approaches import Approaches
from benchmarks.index.asking import Asked
from benchmarks.index.comparison import Comparison, compared_together
from benchmarks.index.databases import Databases
from benchmarks.index.goals import GROWN
from benchmarks.index.memories import Memories
from benchmarks.index.setting import AGENT, Setting
from benchmarks.index.verdicts import GROWTH_CASE
from pgrecall import profiles

SIZES = (50_000, 100_000, 200_000, 400_000)


def sources(setting: Setting) -> list[Memories]:
    return [setting.one_agent(rows) for rows in SIZES]


def run(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    asked = Asked(AGENT, profiles.five_factor, {})
    grown = {f"{source.total:,}": source for source in sources(setting)}
    questions = next(iter(grown.values())).questions(setting.rounds)
    with ExitStack() as stack:
        groups = {
            name: Approaches(databases.prepared(source, progress), stack).all(asked)
            for name, source in grown.items()
        }
        outcomes = compared_together(groups, questions, progress, "growth")
    return [
        Comparison(GROWTH_CASE, "memories of one agent", name, outcomes[name], GROWN)
        for name in groups
    ]
