"""One agent of 100,000 memories: all profiles on two kinds of data, and long vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from rich.progress import Progress

from benchmarks.index.approaches import Approaches
from benchmarks.index.asking import Asked, Question
from benchmarks.index.comparison import Comparison, compared
from benchmarks.index.databases import Databases, Source
from benchmarks.index.goals import ONE_AGENT, WIDE, Goal
from benchmarks.index.meanings import Meanings
from benchmarks.index.memories import Memories
from benchmarks.index.setting import AGENT, PROFILES, Setting
from pgrecall import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Keyword

ROWS = 100_000


def sources(setting: Setting) -> list[Memories]:
    return [setting.one_agent(ROWS, meanings=meanings) for meanings in Meanings]


def run(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    return [
        comparison
        for source in sources(setting)
        for comparison in of_profiles(
            1,
            source,
            source.questions(setting.rounds),
            databases,
            progress,
            goals=ONE_AGENT,
            plotted=source.meanings is Meanings.TOPICS,
        )
    ]


def wide_sources(setting: Setting) -> list[Memories]:
    return [setting.one_agent(ROWS, dimensions=1_536, embedding_type="halfvec")]


def run_wide(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    [source] = wide_sources(setting)
    return of_profiles(
        4,
        source,
        source.questions(setting.rounds),
        databases,
        progress,
        among=(profiles.five_factor,),
        goals={profiles.five_factor.name: WIDE},
        plotted=True,
    )


def of_profiles(
    case: int,
    source: Source,
    questions: Sequence[Question],
    databases: Databases,
    progress: Progress,
    *,
    among: Sequence[Profile] = PROFILES,
    goals: dict[str, Goal],
    plotted: bool,
) -> list[Comparison]:
    """One comparison per profile; that of the default profile is plotted."""
    found = []
    loaded = databases.prepared(source, progress)
    with ExitStack() as stack:
        approaches = Approaches(loaded, stack)
        for profile in among:
            drawn = plotted and profile is profiles.five_factor
            asked = Asked(AGENT, profile, {})
            by_words = profile.find(Keyword) is not None  # which the peers here do not compare
            asking = approaches.ours(asked) if by_words else approaches.all(asked, curve=drawn)
            outcomes = compared(asking, questions, progress, f"{source.name}: {profile.name}")
            found.append(
                Comparison(
                    case, source.name, profile.name, outcomes, goals.get(profile.name), drawn
                )
            )
    return found
