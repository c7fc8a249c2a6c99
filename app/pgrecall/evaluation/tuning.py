"""Tunes a profile by judged queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from inspect import iscoroutine, iscoroutinefunction
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core.checks import K
from pgrecall.core.quoting import shortened
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.steps import Operation, Run
from pgrecall.core.validation import (
    require_aware,
    require_callable,
    require_count,
    require_given_share,
)
from pgrecall.errors import InputError
from pgrecall.evaluation.batches import Asked
from pgrecall.evaluation.candidate_statements import (
    DROP_PAIRS,
    create_pairs,
    draw,
    recency_of,
    spread_statement,
    worth,
)
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.evaluating import measured
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.evaluation.prepared_queries import answered, by_owner, prepared, with_vectors
from pgrecall.evaluation.query_split import (
    held_out_count,
    question_key,
    sample_held_out,
    split,
    split_unanswered,
)
from pgrecall.evaluation.relevance_thresholds import (
    Floor,
    evaluate_floors,
    proposed,
    require_precision,
)
from pgrecall.evaluation.reranked_ranks import reranker_of
from pgrecall.evaluation.tuned import Tuning
from pgrecall.evaluation.weight_search import ROUNDS, Candidate, searching
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.question import narrowing
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import checked_profile
from pgrecall.scoring.signals import Keyword

FEWEST_QUERIES = 10
LEAST_WEIGHT = 0.01
"""An added signal with a smaller weight is removed again."""
MAX_PAIRS = 60_000
"""The most pairs of query and memory. Each takes about a third of a microsecond per candidate."""


def tune(
    tables: Tables,
    /,
    agent_id: str | UUID | None,
    queries: Iterable[JudgedQuery],
    *,
    agents: Sequence[str | UUID] | None = None,
    start: Profile | str | None = None,
    k: int = 10,
    held_out: float = 0.5,
    teams: Sequence[str | UUID] = (),
    as_of: datetime | None = None,
    dates: str | None = None,
    timezone: str | tzinfo | None = None,
    precision: float | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int], Any] | None = None,
    rerank: Rerank | Reranker | bool | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Tuning]:
    """Searches for weights, and a half-life of recency, that rank what answers the queries first.

    The queries are split at random, copies of a question together; with several owners, the owners
    are split. `held_out` is the share for the evaluation. Candidates are chosen by mean nDCG over
    all ranks on the training part. The best is then evaluated on the held-out part, exactly as by
    `evaluate`.

    A signal that is the same for all memories keeps its weight, since the queries say nothing about
    it. A profile without `keyword` may gain it if queries have a text. Half-lives by type or
    tier do not change, nor does a decay.

    `Tuning.proposed` is None if the best profile does no better than `start` on the held-out part,
    or worse than similarity alone, keyword alone or hybrid. `verdict` says which, and whether the
    evidence is thin.

    With `precision`, queries without an answer are split in the same way, and `Tuning.floor` is the
    proposed `min_relevance`: the one that makes most of them return nothing, while at least this
    share of all queries that return nothing have no answer.

    `start` is by default the profile of a search that names none. `agents`, `dates` and `timezone`
    are those of `evaluate`, and so is `rerank`: it judges in both evaluations, not while candidates
    are chosen. The same `seed` gives the same result. `on_progress(done, of)` is
    called between rounds and must be a plain function.

    Raises InputError and its children.
    """
    require_aware("as_of", as_of)
    named = prepared(tables, queries, agent_id, agents, teams, dates, timezone, as_of)
    checked = answered(named)
    if precision is not None:
        precision = require_precision(precision)
    _require_enough(len(checked), len(checked))
    start_profile = None if start is None else checked_profile(start)
    if start_profile is not None:
        _searched(start_profile, checked)
    k = K("k", k)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    _require_progress(on_progress)
    share = require_given_share("held_out", held_out)
    of_owners = len(by_owner(checked)) > 1
    held_out_count(share, len(by_owner(checked)) if of_owners else len(checked), of_owners)
    reranker = yield from reranker_of(rerank, named)
    chosen = Filters.of(filters)
    named = yield from with_vectors(named)
    checked = answered(named)
    profile = start_profile or (yield from default_profile(tables))
    searched = _searched(profile, checked)
    questions = list(map(question_key, checked))
    _require_enough(len(set(questions)), len(questions))
    units = [query.agent_id for query in checked] if of_owners else questions
    held_out_units = sample_held_out(units, share, seed, of_owners)
    unknown = None
    if precision is not None:
        unknown = split_unanswered(named, held_out_units if of_owners else None, share, seed)
    chosen = yield from narrowing(tables, chosen)
    parts = split(checked, units, held_out_units)
    context = Asked(tables, teams, chosen, as_of, rerank=reranker)
    best, free = yield from _best(context, parts[0], searched, profile, seed, on_progress)
    tuned = _tuned(profile, searched, best, free)
    evaluations = []
    floor: Floor | None = None
    for number, part in enumerate(parts):
        evaluation = yield from measured(context, part, (profile, tuned), k, seed)
        if unknown is not None and precision is not None:
            others = () if floor is None else (floor.min_relevance,)
            both = [*part, *unknown[number]]
            floors = yield from evaluate_floors(context, both, tuned, k, others)
            floor = proposed(floors, precision)
            evaluation = replace(evaluation, floors=floors)
        evaluations.append(evaluation)
    training, held_back = evaluations
    different = {
        question for question, unit in zip(questions, units, strict=True) if unit in held_out_units
    }
    return Tuning(profile, tuned, training, held_back, len(different), precision)


def _searched(profile: Profile, checked: Sequence[CheckedQuery]) -> Profile:
    """The profile, with the keyword signal added if queries have a text; raises InputError."""
    has_it = profile.find(Keyword) is not None
    if not has_it and any(query.query_text is not None for query in checked):
        return replace(profile, signals={**profile.signals, Keyword(): 0.0})
    if len(profile.signals) < 2 and recency_of(profile) is None:
        raise InputError(
            f"profile {shortened(profile.name)} has only one signal, so there is nothing to tune"
        )
    return profile


def _require_progress(on_progress: object) -> None:
    require_callable("on_progress", on_progress)
    if iscoroutinefunction(on_progress) or iscoroutinefunction(type(on_progress).__call__):
        raise _cannot_be_awaited(on_progress)


def _cannot_be_awaited(on_progress: object) -> InputError:
    return InputError(
        "on_progress of tune is called within a transaction and cannot be awaited; pass a plain "
        f"function, got {shortened(on_progress)}"
    )


def _require_enough(different: int, queries: int) -> None:
    if different < FEWEST_QUERIES:
        ones = "" if different == queries else f" different ones among {queries}"
        raise InputError(
            f"tuning needs at least {FEWEST_QUERIES} judged queries, got {different}{ones}"
        )


def _best(
    context: Asked,
    checked: Sequence[CheckedQuery],
    profile: Profile,
    start: Profile,
    seed: int,
    on_progress: Callable[[int, int], Any] | None,
) -> Operation[tuple[Candidate, list[bool]]]:
    """The best weights and half-life on the training queries, and which weights are free.

    `profile` is `start`, or `start` with one signal added at its end.
    """
    tables = context.tables
    yield DROP_PAIRS  # a failed attempt may have left it
    yield Run(create_pairs(profile))
    for batch in (yield from context.batches(checked, [profile])):
        yield draw(tables, batch, profile, max(MAX_PAIRS // len(checked), 1))
    [spread] = yield Run(spread_statement(tables, profile))
    free = [bool(varies) for varies in spread]
    relevant = {number: query.relevant for number, query in enumerate(checked)}
    recency = recency_of(profile)
    tries = searching(
        _candidate(profile),
        free,
        seed,
        recency=None if recency is None else list(profile.signals).index(recency),
        brought_in=None if profile == start else len(free) - 1,
    )
    reached, done = None, 0
    problem: Exception | None = None
    while problem is None:
        try:
            tried = next(tries) if reached is None else tries.send(reached)
        except StopIteration as end:
            best: Candidate = end.value
            break
        scores = {
            row.candidate: row.worth for row in (yield worth(tables, profile, relevant, tried))
        }
        # There is no row if no relevant memory may be ranked.
        reached = [scores.get(number, 0.0) for number in range(len(tried))]
        done += 1
        problem = _report(on_progress, done)
    problem = problem or _report(on_progress, ROUNDS)
    yield DROP_PAIRS
    if problem is not None:
        raise problem
    return best, free


def _report(on_progress: Callable[[int, int], Any] | None, done: int) -> Exception | None:
    """Reports progress. Returns the caller's error, to be raised after the tables are dropped."""
    try:
        reported = None if on_progress is None else on_progress(done, ROUNDS)
    except Exception as problem:
        return problem
    if iscoroutine(reported):
        reported.close()
        return _cannot_be_awaited(on_progress)
    return None


def _candidate(profile: Profile) -> Candidate:
    recency = recency_of(profile)
    weights = tuple(weight for _, weight in profile)
    if recency is None:
        return Candidate(weights, None)
    return Candidate(weights, recency.half_life_in_days)


def _tuned(profile: Profile, searched: Profile, best: Candidate, free: Sequence[bool]) -> Profile:
    """The profile with the best weights and half-life, under the name <name>_tuned.

    An added signal whose weight is below LEAST_WEIGHT is removed.
    """
    if searched != profile and best.weights[-1] < LEAST_WEIGHT:
        best, free = best.without_last(free), free[:-1]
    elif searched != profile:
        profile = searched
    start, rounded = _candidate(profile), best.rounded(free)
    tuned = profile
    if best.weights != start.weights:
        names = [signal.name for signal, _ in profile]
        tuned = tuned.with_weights(**dict(zip(names, rounded.weights, strict=True)))
    if rounded.half_life is not None and best.half_life != start.half_life:
        tuned = tuned.with_half_life(rounded.half_life)
    return tuned.renamed(f"{profile.name}_tuned")
