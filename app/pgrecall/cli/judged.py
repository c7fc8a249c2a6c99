"""Where judged queries come from: a file, or recorded use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Annotated

from pgrecall.cli.output import plain
from pgrecall.cli.written import argument, option
from pgrecall.core.quoting import listed
from pgrecall.errors import InputError
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.evaluation.queries_file import load_queries
from pgrecall.execution import MemoryRepository
from pgrecall.ranking.filters import FilterArguments

QueriesFile = Annotated[
    Path | None,
    argument(
        "A JSON Lines file. Each line has query (a text or a vector) and relevant (ids), and may "
        "have group, time, query_time and agent.",
        show_default=False,
    ),
]
Recorded = Annotated[
    bool, option("Use the queries recorded with feedback and outcomes.", "--recorded")
]


class Judging(FilterArguments, total=False):
    """The arguments that `evaluate` and `tune` share."""

    agents: Annotated[
        Sequence[str],
        option(
            "Agent that the queries are about. May be repeated: then each query names its own.",
            "--agent",
            "-a",
        ),
    ]
    k: Annotated[int, option("The k of recall@k and nDCG@k. Default: 10.", "-k")]
    seed: Annotated[int, option("Seed of the random numbers. Default: 0.")]
    teams: Sequence[str]
    as_of: datetime
    dates: str
    timezone: str | tzinfo


def require_source(file: Path | None, *, recorded: bool) -> None:
    """Raises InputError unless there is one source."""
    if (file is None) != recorded:
        raise InputError("give either a file of judged queries or --recorded")
    if file is not None and not file.is_file():
        raise InputError(f"{file} is not a file")


def queries_of(
    repo: MemoryRepository, agents: Sequence[str], file: Path | None
) -> list[JudgedQuery]:
    """The file's queries, or those recorded; raises InputError where there are none."""
    if file is not None:
        agent = agents[0] if len(agents) == 1 else None
        return load_queries(file, agent, of_teams=bool(repo._tables.prefix))
    if not agents:
        raise InputError("--recorded needs --agent: the agent whose queries were recorded")
    queries = [query for agent in agents for query in repo.evaluation.recorded_queries(agent)]
    if not queries:
        raise InputError(
            f"no queries are recorded for {listed(agents)}; record them with "
            "`pgrecall feedback … --query` or `pgrecall outcome … --query`"
        )
    return queries


def missing_noted(missing: int, agents: Sequence[str]) -> list[str]:
    """How many relevant memories the agents do not have, if any."""
    whose = plain(listed(agents)) if agents else "the agents that the queries name"
    one = missing == 1
    said = (
        f"{missing:,} relevant {'memory does' if one else 'memories do'} not exist for {whose} "
        f"and {'counts' if one else 'count'} as not found"
    )
    return [said] if missing else []
