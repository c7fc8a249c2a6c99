"""Several agents in one table: large ones among many small ones."""

from __future__ import annotations

from contextlib import ExitStack

from rich.progress import Progress

from benchmarks.index.approaches import Approaches
from benchmarks.index.asking import Asked
from benchmarks.index.comparison import Comparison, compared
from benchmarks.index.databases import Databases
from benchmarks.index.goals import SEVERAL_AGENTS
from benchmarks.index.memories import Memories
from benchmarks.index.setting import Setting
from pgrecall import profiles

ALL = 250_000
SMALL = 1_000
PLOTTED = 30_000


def sources(setting: Setting) -> list[Memories]:
    large = tuple((_name(full), setting.rows(full)) for full in SEVERAL_AGENTS)
    rest = setting.rows(ALL) - sum(count for _, count in large)
    each = setting.rows(SMALL)
    small = tuple((f"small {number}", each) for number in range(rest // each))
    return [Memories(large + small, tuple(map(_name, SEVERAL_AGENTS)), setting.now, setting.seed)]


def run(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    [source] = sources(setting)
    loaded = databases.prepared(source, progress)
    questions = source.questions(setting.rounds)
    sizes = dict(source.agents)
    found = []
    with ExitStack() as stack:
        approaches = Approaches(loaded, stack)
        for full, goal in SEVERAL_AGENTS.items():
            drawn = full == PLOTTED
            asking = approaches.all(Asked(_name(full), profiles.five_factor, {}), curve=drawn)
            size = f"an agent of {sizes[_name(full)]:,}"
            outcomes = compared(asking, questions, progress, size)
            found.append(Comparison(2, f"{source.name}, one table", size, outcomes, goal, drawn))
    return found


def _name(full: int) -> str:
    return f"agent of {full:,}"
