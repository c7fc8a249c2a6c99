"""Filters that pass few of an agent's memories, and the memories of a team beside its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import psycopg
from rich.progress import Progress

from benchmarks.index.approaches import Approaches
from benchmarks.index.asking import Asked
from benchmarks.index.comparison import Comparison, compared
from benchmarks.index.databases import Databases, Loaded
from benchmarks.index.drafts import SAMPLES, TIER_SHARES, TYPES
from benchmarks.index.memories import Memories
from benchmarks.index.setting import AGENT, Setting
from benchmarks.index.single import ROWS
from benchmarks.index.verdicts import FILTERS_CASE
from benchmarks.loading import copy_rows, vacuum
from benchmarks.progress import tracked
from pgrecall import migrate, profiles
from pgrecall.ranking.filters import FilterArguments

TEAM, TEAM_ROWS = "team", 50_000


def sources(setting: Setting) -> list[Memories]:
    return [setting.one_agent(ROWS)]


def run(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    [source] = sources(setting)
    loaded = databases.prepared(source, progress)
    questions = source.questions(setting.rounds)
    found = []
    with ExitStack() as stack:
        approaches = Approaches(loaded, stack)
        for share, kind, filters in filtering(source):
            asked = Asked(AGENT, profiles.five_factor, filters)
            what = f"{100 * share:g} % by {kind}"
            outcomes = compared(approaches.iterative(asked), questions, progress, what)
            found.append(Comparison(FILTERS_CASE, source.name, what, outcomes))
    team_rows = _with_team(loaded, setting, databases, progress)
    with ExitStack() as stack:
        approaches = Approaches(loaded, stack)
        asked = Asked(AGENT, profiles.five_factor, {}, teams=(TEAM,))
        outcomes = compared(approaches.ours(asked), questions, progress, "a team")
        what = f"with a team of {team_rows:,}"
        found.append(Comparison(FILTERS_CASE, source.name, what, outcomes))
    return found


def filtering(source: Memories) -> Iterator[tuple[float, str, FilterArguments]]:
    """Share of the memories that pass, kind of filter, filter; tiers are but three."""
    types = list(TYPES)
    for (sample, share), number in zip(SAMPLES.items(), range(4, 0, -1), strict=True):
        yield share, "memory_types", {"memory_types": types[:number]}
        if share >= min(TIER_SHARES):
            yield share, "tiers", {"tiers": ["short"] if share < 0.5 else ["short", "medium"]}
        yield share, "metadata", {"metadata": {"drawn": [sample]}}
        yield share, "created_after", {"created_after": source.moment(1 - share)}


def _with_team(loaded: Loaded, setting: Setting, databases: Databases, progress: Progress) -> int:
    """Puts a team's memories beside the agent's, with a rank index; how many they are."""
    owner_id = f"team:{TEAM}"
    team = Memories(((owner_id, setting.rows(TEAM_ROWS)),), (), setting.now, setting.seed + 10)
    migrate.upgrade(loaded.url, embedding_index=False)  # no peer is asked from here on
    with psycopg.connect(loaded.url) as connection:
        rows = tracked(progress, team, team.total, f"loading a team of {team.total:,}")
        copy_rows(connection, rows)
    vacuum(loaded.url, "agent_memories", "memory_usage")
    databases.build(loaded, TEAM, progress, of_team=True)
    return team.total
