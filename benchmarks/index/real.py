"""Real passages, asked what a person would ask of them."""

from __future__ import annotations

from rich.progress import Progress

from benchmarks.index.comparison import Comparison
from benchmarks.index.databases import Databases
from benchmarks.index.goals import REAL_TEXT
from benchmarks.index.passages import Passages
from benchmarks.index.setting import PROFILES, Setting
from benchmarks.index.single import of_profiles
from pgrecall import profiles


def sources(setting: Setting) -> list[Passages]:
    return [] if setting.passages is None else [setting.passages]


def run(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    """Nothing without a file of passages."""
    return [
        comparison
        for source in sources(setting)
        for comparison in of_profiles(
            3,
            source,
            source.questions(),
            databases,
            progress,
            among=(profiles.hybrid, *PROFILES),
            goals=dict.fromkeys(profiles.BUILT_IN, REAL_TEXT),
            plotted=True,
        )
    ]
