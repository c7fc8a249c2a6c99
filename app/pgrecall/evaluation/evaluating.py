"""Evaluates profiles by judged queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from inspect import iscoroutine, iscoroutinefunction
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core import checks
from pgrecall.core.checks import K
from pgrecall.core.quoting import shortened
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.steps import READS_TOGETHER, Operation, Run, needs
from pgrecall.core.validation import (
    in_list,
    require_callable,
    require_count,
)
from pgrecall.errors import InputError
from pgrecall.evaluation.bootstrap import intervals
from pgrecall.evaluation.checked_query import (
    CheckedQuery,
    JudgedQuery,
    answered,
    by_owner,
    prepared,
    searched_owners,
    with_vectors,
)
from pgrecall.evaluation.ranks import Ranks, existing, metrics, ranks, rerank_ranks, reranker_of
from pgrecall.evaluation.relevance_thresholds import evaluate_floors
from pgrecall.evaluation.results import (
    FEWEST_OWNERS,
    METRICS,
    Difference,
    Evaluation,
    ProfileEvaluation,
    Scores,
)
from pgrecall.evaluation.scored import Asked
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.filter_keys import SIMILARITY
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.question import require_words
from pgrecall.schema import Tables
from pgrecall.scoring import profiles as built_in
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import checked_profile
from pgrecall.scoring.signals import Keyword, Signal, Similarity

OnProgress = Callable[[int, int], Any]


@dataclass
class Reporting:
    """Counts what is done, and reports it. Raises InputError for a function that is awaited."""

    method: str
    on_progress: OnProgress | None
    of: int = 0
    done: int = 0

    def __post_init__(self) -> None:
        given = self.on_progress
        require_callable("on_progress", given)
        if iscoroutinefunction(given) or iscoroutinefunction(type(given).__call__):
            raise self._cannot_be_awaited()

    def add(self, steps: int = 1) -> None:
        """So many steps more are done."""
        self.done += steps
        reported = None if self.on_progress is None else self.on_progress(self.done, self.of)
        if iscoroutine(reported):
            reported.close()
            raise self._cannot_be_awaited()

    def _cannot_be_awaited(self) -> InputError:
        return InputError(
            f"on_progress of {self.method} is called within a transaction and cannot be awaited; "
            f"pass a plain function, got {shortened(self.on_progress)}"
        )


REPORTED_TOGETHER = 10
"""Queries of a statement where progress is reported: what all have in common is computed for each
statement."""


@needs(READS_TOGETHER)
def evaluate(
    tables: Tables,
    /,
    agent_id: str | UUID | None,
    queries: Iterable[JudgedQuery],
    *,
    agents: Sequence[str | UUID] | None = None,
    profiles: Sequence[Profile | str] | None = None,
    k: int = 10,
    min_score: float | None = None,
    teams: Sequence[str | UUID] = (),
    as_of: datetime | None = None,
    period: tuple[datetime, datetime] | str | None = "auto",
    timezone: str | tzinfo | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    rerank: Rerank | Reranker | bool | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Evaluation]:
    """Measures how well profiles find what answers the queries: recall@k, MRR and nDCG@k.

    Every profile ranks all memories of the agent and of `teams` for every query, exactly as
    `search` does, with its filters and thresholds. `profiles` are by default the one of a search
    that names none. A query is asked at its own `as_of`, or else the one given here, or else now.
    No retrieval is counted.

    Means are compared with those of the first profile, with a 95 % interval of the mean difference
    by paired bootstrap; the same `seed` gives the same interval. Similarity alone, keyword alone
    and hybrid are measured too (`Evaluation.baselines`).

    Queries may concern several agents: each is ranked among the memories of its own `agent_id`, or
    of `agent_id` given here. If `agent_id` or `agents` are given, queries about others are refused.
    From five owners on, intervals are over owners, each with all its queries.

    With `rerank`, as `search` has it, `profiles` are measured after the reranker, under the name
    <name>_reranked. Queries without an answer count in `floors` alone, which says, for each
    `min_relevance`, how many of them return nothing by the first profile, and how much recall that
    costs.

    `on_progress(done, of)` is called after every few queries and must be a plain function. With
    `rerank` each query is counted twice.

    Raises InputError and its children; the error names the query, counted from 0.
    """
    thresholds = checks.checked(SearchArguments, {"as_of": as_of, "min_score": min_score})
    checked = prepared(tables, queries, agent_id, agents, teams, period, timezone, as_of)
    named = () if profiles is None else tuple(map(checked_profile, _several(profiles)))
    k = K("k", k)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    reporting = Reporting("evaluate", on_progress)
    reranker = yield from reranker_of(rerank, checked)
    chosen = Filters.of(filters)
    if SIMILARITY in chosen.reads and any(query.query is None for query in checked):
        raise InputError("filter: similarity needs a vector or a text in every query")
    answered(checked)
    checked = yield from with_vectors(checked)
    ranked = named or ((yield from default_profile(tables)),)
    yield from require_words(tables, chosen)
    least = thresholds.get("min_score")
    context = Asked(tables, teams, chosen, as_of, least, reranker)
    evaluation = yield from measured(context, answered(checked), ranked, k, seed, reporting)
    if all(query.relevant for query in checked):
        return evaluation
    return replace(evaluation, floors=(yield from evaluate_floors(context, checked, ranked[0], k)))


def measured(
    context: Asked,
    checked: Sequence[CheckedQuery],
    profiles: Sequence[Profile],
    k: int,
    seed: int,
    reporting: Reporting,
) -> Operation[Evaluation]:
    """Evaluates checked and with_vectors queries."""
    rerank, not_reranked = context.rerank, None
    compared = (*profiles, *baselines(profiles, checked, with_first=rerank is not None))
    reporting.of = len(checked) * (1 + (rerank is not None))
    ranking: list[list[Ranks]] = []
    for query in checked:
        ranking.append((yield from ranks(context, query, compared)))
        reporting.add()
    if rerank is not None:
        not_reranked = 0
        for query, known in zip(checked, ranking, strict=True):
            not_reranked += yield from rerank_ranks(context, rerank, query, profiles, known)
            reporting.add()
    values = [
        [metrics(query.relevant, ranking[n][place], k) for n, query in enumerate(checked)]
        for place in range(len(compared))
    ]
    if rerank is not None:
        others = compared[len(profiles) :]
        profiles = [profile.renamed(f"{profile.name}_reranked") for profile in profiles]
        compared = (*profiles, *others)
    missing = yield from count_missing(context, checked)
    evaluation = evaluation_of(checked, profiles, compared, values, k, seed, missing)
    return replace(evaluation, not_reranked=not_reranked)


def count_missing(context: Asked, checked: Sequence[CheckedQuery]) -> Operation[int]:
    """The number of relevant memories that do not exist, counted for each query."""
    tables, missing = context.tables, 0
    for numbers in by_owner(checked).values():
        judged = [id_ for number in numbers for id_ in checked[number].relevant]
        owners = searched_owners(tables, checked[numbers[0]], context.teams)
        ids = list(set(judged))
        rows = yield Run(existing(tables), {"all_owners": owners, "ids": ids})
        there = {row.id for row in rows}
        missing += sum(id_ not in there for id_ in judged)
    return missing


def baselines(
    profiles: Sequence[Profile], checked: Sequence[CheckedQuery], *, with_first: bool = False
) -> list[Profile]:
    """The baselines that are not among the profiles and that some query has a value for; or all of
    these and the first profile."""
    has_value: dict[type[Signal], bool] = {
        Similarity: any(query.vector is not None for query in checked),
        Keyword: any(query.keywords is not None for query in checked),
    }
    usable = [
        baseline
        for baseline in built_in.BASELINES
        if any(has_value.get(type(signal), True) for signal in baseline.signals)
    ]

    def is_one(profile: Profile, baseline: Profile) -> bool:
        return profile.renamed(baseline.name) == baseline

    if with_first:
        first = profiles[0]
        return usable if any(is_one(first, one) for one in usable) else [first, *usable]
    return [one for one in usable if not any(is_one(profile, one) for profile in profiles)]


def _several(profiles: object) -> list[object]:
    several = [profiles] if isinstance(profiles, str | Profile) else in_list(profiles)
    if several is None:
        raise InputError(f"profiles must be a list of profiles, got {type(profiles).__name__}")
    if not several:
        raise InputError("an evaluation needs at least one profile")
    return several


def evaluation_of(
    checked: Sequence[CheckedQuery],
    profiles: Sequence[Profile],
    compared: Sequence[Profile],
    per_query: Sequence[Sequence[Mapping[str, float]]],
    k: int,
    seed: int,
    missing: int,
) -> Evaluation:
    """The evaluation of the metrics of each query by each profile."""
    values = [{name: [one[name] for one in group] for name in METRICS} for group in per_query]
    groups: dict[str, list[int]] = {}
    for number, query in enumerate(checked):
        if query.group is not None:
            groups.setdefault(query.group, []).append(number)
    owners = [query.agent_id for query in checked]
    overall = scores_of(values, range(len(checked)), owners, seed)
    by_group = {name: scores_of(values, numbers, owners, seed) for name, numbers in groups.items()}
    evaluations = tuple(
        ProfileEvaluation(
            profile,
            overall[number],
            {name: scores[number] for name, scores in by_group.items()},
            values[number],
        )
        for number, profile in enumerate(compared)
    )
    return Evaluation(
        k=k,
        profiles=evaluations[: len(profiles)],
        baselines=evaluations[len(profiles) :],
        missing=missing,
    )


def scores_of(
    values: Sequence[Mapping[str, Sequence[float]]],
    numbers: Sequence[int],
    owners: Sequence[str | None],
    seed: int,
) -> list[Scores]:
    """The scores of each profile over the queries with these numbers."""
    first, size = values[0], len(numbers)
    query_owners = [owners[number] for number in numbers]
    different = len(set(query_owners))
    compared = [(profile, name) for profile in range(1, len(values)) for name in METRICS]
    paired = [
        [values[profile][name][number] - first[name][number] for number in numbers]
        for profile, name in compared
    ]
    differences: list[dict[str, Difference]] = [{} for _ in values]
    for (profile, name), sample, (low, high) in zip(
        compared,
        paired,
        intervals(paired, seed, owners=query_owners if different >= FEWEST_OWNERS else None),
        strict=True,
    ):
        differences[profile][name] = Difference(math.fsum(sample) / size, low, high, size)
    return [
        Scores(
            size,
            {name: math.fsum(of[name][number] for number in numbers) / size for name in METRICS},
            differences[profile],
            different,
        )
        for profile, of in enumerate(values)
    ]
