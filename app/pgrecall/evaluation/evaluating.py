"""Evaluates profiles by judged queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core import checks
from pgrecall.core.checks import K
from pgrecall.core.steps import Operation, Run
from pgrecall.core.validation import (
    in_list,
    require_count,
)
from pgrecall.errors import InputError
from pgrecall.evaluation.bootstrap import intervals
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.floors import evaluate_floors
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.evaluation.pairs import EvaluationShape
from pgrecall.evaluation.prepared_queries import (
    answered,
    by_owner,
    checked_queries,
    searched_owners,
    with_owner_ids,
    with_periods,
)
from pgrecall.evaluation.queries_tables import drop_empty_texts
from pgrecall.evaluation.rank_statement import evaluate_statement, weight_name
from pgrecall.evaluation.results import (
    FEWEST_OWNERS,
    METRICS,
    Difference,
    Evaluation,
    ProfileEvaluation,
    Scores,
)
from pgrecall.evaluation.upload import drop_uploaded, embedded, upload
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.gathered import gathered
from pgrecall.ranking.question import narrowing
from pgrecall.schema import Tables
from pgrecall.scoring import profiles as built_in
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import checked_profile
from pgrecall.scoring.signals import EntityOverlap, Keyword, Signal, Similarity


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
    min_similarity: float | None = None,
    teams: Sequence[str | UUID] = (),
    as_of: datetime | None = None,
    dates: str | None = None,
    timezone: str | tzinfo | None = None,
    seed: int = 0,
    **filters: Unpack[FilterArguments],
) -> Operation[Evaluation]:
    """Measures how well profiles find what answers the queries: recall@k, MRR and nDCG@k.

    `profiles` are by default the one of a search that names none.

    Every profile ranks all memories of the agent and of `teams` for every query, exactly as
    `search` does, in one statement per owner. A query is asked at its own `as_of`, or else the one
    given here, or else now. Its period is its own, or the one that its text names if `dates` is
    given, in `timezone`. Filters and thresholds are those of `search`. No retrieval is counted.

    Similarity alone, keyword alone and hybrid are measured too (`Evaluation.baselines`). Means are
    compared with those of the first profile, with a 95 % interval of the mean difference by paired
    bootstrap. The same `seed` gives the same interval. With fewer than ten queries no difference is
    called clear.

    Queries may concern several agents: each is ranked among the memories of its own `agent_id`, or
    of `agent_id` given here. If `agent_id` or `agents` are given, queries about others are refused.
    From five owners on, intervals are over owners, each with all its queries. For queries recorded
    from use (`JudgedQuery.recorded`) signals are as they were before the query.

    Queries without an answer do not count in the means. `floors` says, for each `min_relevance`,
    how many of them return nothing by the first profile, and how much recall that costs.

    Raises InputError and its children; the error names the query, counted from 0.
    """
    asked = {"as_of": as_of, "min_score": min_score, "min_similarity": min_similarity}
    given = checks.checked(SearchArguments, asked, also=("query",))
    floors: dict[str, float] = {
        name: given[name] for name in ("min_score", "min_similarity") if name in given
    }
    zone = tables.in_zone(timezone).zone
    dated = with_periods(checked_queries(queries), dates, as_of, zone)
    checked = with_owner_ids(tables, dated, agent_id, agents)
    searched_owners(tables, checked[0], teams)
    named = () if profiles is None else tuple(map(checked_profile, _several(profiles)))
    k = K("k", k)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    if "min_similarity" in floors and any(query.query is None for query in checked):
        raise InputError("min_similarity needs a vector or a text in every query")
    chosen = Filters.of(filters)
    answered(checked)
    checked = yield from embedded(checked)
    ranked = named or ((yield from default_profile(tables)),)
    chosen = yield from narrowing(tables, chosen)
    found = yield from measured(
        tables, teams, answered(checked), ranked, k, chosen, floors, as_of, seed
    )
    if all(query.relevant for query in checked):
        return found
    arguments: Any = {**filters, "teams": teams, "as_of": as_of, **floors}
    return replace(
        found,
        floors=(yield from evaluate_floors(tables, checked, ranked[0], k, arguments)),
    )


def measured(
    tables: Tables,
    teams: Sequence[str | UUID],
    checked: Sequence[CheckedQuery],
    profiles: Sequence[Profile],
    k: int,
    filters: Filters,
    floors: Mapping[str, float],
    as_of: datetime | None,
    seed: int,
) -> Operation[Evaluation]:
    """Evaluates checked and embedded queries, one owner after the other."""
    ranked = (*profiles, *_baselines(profiles, checked))
    rows: dict[int, Any] = {}
    for numbers in by_owner(checked).values():
        theirs = [checked[number] for number in numbers]
        owners = searched_owners(tables, theirs[0], teams)
        found = yield from _ranked(tables, owners, theirs, ranked, k, filters, floors, as_of)
        rows.update(zip(numbers, found, strict=True))
    return _evaluation(
        checked, profiles, ranked, [rows[number] for number in range(len(checked))], k, seed
    )


def _ranked(
    tables: Tables,
    owners: Sequence[str],
    checked: Sequence[CheckedQuery],
    ranked: Sequence[Profile],
    k: int,
    filters: Filters,
    floors: Mapping[str, float],
    as_of: datetime | None,
) -> Operation[Sequence[Any]]:
    """The metrics of each query by every profile."""
    checked, as_of = _one_moment(checked, as_of)
    shape = shape_of(owners, checked, ranked, filters, as_of, floors)
    yield from upload(tables, checked)
    if any(shape.redistributes) and shape.has_text:
        yield Run(drop_empty_texts(tables))
    within, where = yield from gathered(tables, filters.where, several=shape.has_teams)
    rows: Sequence[Any] = yield Run(
        evaluate_statement(within, shape, where),
        {
            **owners_of(owners),
            "k": k,
            **({} if as_of is None else {"as_of": as_of}),
            **filters.parameters,
            **floors,
            **weights_of(ranked),
        },
    )
    yield from drop_uploaded(tables)
    return rows


def _baselines(
    profiles: Sequence[Profile],
    checked: Sequence[CheckedQuery],
) -> list[Profile]:
    """The baselines that are not among the profiles and that some query has a value for."""
    has_value: dict[type[Signal], bool] = {
        Similarity: any(query.vector is not None for query in checked),
        Keyword: any(query.query_text is not None for query in checked),
    }
    return [
        baseline
        for baseline in built_in.BASELINES
        if any(has_value.get(type(signal), True) for signal in baseline.signals)
        and not any(profile.renamed(baseline.name) == baseline for profile in profiles)
    ]


def owners_of(owners: Sequence[str]) -> dict[str, Any]:
    """The parameter with the owners, OWNER or OWNERS."""
    return {"owner_id": owners[0]} if len(owners) == 1 else {"owners": list(owners)}


def weights_of(ranked: Sequence[Profile]) -> dict[str, float]:
    """The parameters with the weights of the profiles."""
    return {
        weight_name(number, signal): weight
        for number, profile in enumerate(ranked)
        for signal, weight in profile
    }


def _several(profiles: object) -> list[object]:
    several = [profiles] if isinstance(profiles, str | Profile) else in_list(profiles)
    if several is None:
        raise InputError(f"profiles must be a list of profiles, got {type(profiles).__name__}")
    if not several:
        raise InputError("an evaluation needs at least one profile")
    return several


def shape_of(
    owners: Sequence[str],
    checked: Sequence[CheckedQuery],
    ranked: Sequence[Profile],
    filters: Filters,
    as_of: datetime | None,
    floors: Mapping[str, float],
) -> EvaluationShape:
    """The shape of the statement for these queries and profiles."""
    reads_entities = any(
        isinstance(signal, EntityOverlap) for profile in ranked for signal, _ in profile
    )
    return EvaluationShape(
        profiles=tuple(tuple(profile.signals) for profile in ranked),
        filters=filters.shape,
        has_teams=len(owners) > 1,
        has_as_of=as_of is not None,
        moments_differ=any(query.as_of is not None or query.recorded for query in checked),
        finds_entities=reads_entities and any(query.query_entities is None for query in checked),
        has_text=any(query.query_text is not None for query in checked),
        has_period=any(query.query_time is not None for query in checked),
        has_min_score="min_score" in floors,
        has_min_similarity="min_similarity" in floors,
        redistributes=tuple(profile.redistribute for profile in ranked),
        has_recorded=any(query.recorded for query in checked),
    )


def _one_moment(
    checked: Sequence[CheckedQuery], as_of: datetime | None
) -> tuple[Sequence[CheckedQuery], datetime | None]:
    """Moves a moment that all queries have in common to `as_of`, so ages are computed once."""
    moments = {query.as_of or as_of for query in checked}
    if len(moments) > 1 or any(query.recorded for query in checked):
        return checked, as_of
    return [replace(query, as_of=None) for query in checked], moments.pop()


def _evaluation(
    checked: Sequence[CheckedQuery],
    profiles: Sequence[Profile],
    ranked: Sequence[Profile],
    rows: Sequence[Any],
    k: int,
    seed: int,
) -> Evaluation:
    values = [
        {name: [float(getattr(row, f"{name}_{number}")) for row in rows] for name in METRICS}
        for number in range(len(ranked))
    ]
    groups: dict[str, list[int]] = {}
    for number, query in enumerate(checked):
        if query.group is not None:
            groups.setdefault(query.group, []).append(number)
    owners = [query.agent_id for query in checked]
    overall = _scores(values, range(len(checked)), owners, seed)
    by_group = {name: _scores(values, numbers, owners, seed) for name, numbers in groups.items()}
    evaluations = tuple(
        ProfileEvaluation(
            profile,
            overall[number],
            {name: scores[number] for name, scores in by_group.items()},
            values[number],
        )
        for number, profile in enumerate(ranked)
    )
    return Evaluation(
        k=k,
        profiles=evaluations[: len(profiles)],
        baselines=evaluations[len(profiles) :],
        missing=sum(row.missing for row in rows),
    )


def _scores(
    values: Sequence[Mapping[str, Sequence[float]]],
    numbers: Sequence[int],
    owners: Sequence[str | None],
    seed: int,
) -> list[Scores]:
    """The scores of each profile over the queries with these numbers."""
    first, size = values[0], len(numbers)
    theirs = [owners[number] for number in numbers]
    different = len(set(theirs))
    compared = [(profile, name) for profile in range(1, len(values)) for name in METRICS]
    paired = [
        [values[profile][name][number] - first[name][number] for number in numbers]
        for profile, name in compared
    ]
    differences: list[dict[str, Difference]] = [{} for _ in values]
    for (profile, name), sample, (low, high) in zip(
        compared,
        paired,
        intervals(paired, seed, owners=theirs if different >= FEWEST_OWNERS else None),
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
