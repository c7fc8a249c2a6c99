"""Tuning a profile by labelled queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Any, Unpack

from sqlalchemy.schema import CreateTable, DropTable

from pgrecall import profiles as built_in
from pgrecall import statements
from pgrecall.checked_query import CheckedQuery
from pgrecall.embedding import StoredVector
from pgrecall.errors import InputError
from pgrecall.filters import FilterArguments, Filters
from pgrecall.labelled_query import LabelledQuery
from pgrecall.operations.evaluating import (
    checked_queries,
    embedded_queries,
    hand_over,
    measured,
    shape_of,
    take_back,
    weights_of,
)
from pgrecall.operations.question import MAX_K, checked_profile, narrowing
from pgrecall.profile import Profile
from pgrecall.schema import Tables
from pgrecall.signals import Curve, Recency, rate_of
from pgrecall.statements import TuningShape, weights_name
from pgrecall.steps import Execute, Operation
from pgrecall.tuning import Tuning
from pgrecall.validation import require_aware, require_count, require_given_share, require_name
from pgrecall.weight_search import ROUNDS, Candidate, searching

FEWEST_QUERIES = 10
MAX_PAIRS = 60_000
"""Pairs of query and memory that candidates are judged by; each costs a third of a microsecond or
so for each candidate."""


def tune(
    tables: Tables,
    /,
    agent_id: str,
    queries: Iterable[LabelledQuery],
    *,
    start: Profile | str = built_in.five_factor,
    k: int = 10,
    held_out: float = 0.5,
    as_of: datetime | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int], Any] | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Tuning]:
    """Searches the weights of a profile's signals, and the half-life of its recency, that put what
    answers the queries first.

    The queries are divided by chance: by the training part candidates are judged (mean nDCG over
    all ranks, among the memories that any sensible weights would put first), and the rest, a share
    `held_out` of them, tells how the best of them does on queries that it was not chosen by, ranked
    exactly as `evaluate` does. A signal that is the same for all memories keeps its weight: the
    queries tell nothing of it. `Tuning.proposed` is None where it does no better there, and
    `verdict` says when the evidence is too thin. Half-lives by type or tier stay as they are. The
    same `seed` gives the same result. `on_progress(done, of)` is called between rounds.

    Raises InputError and its children.
    """
    require_name("agent_id", agent_id)
    asked = checked_queries(queries)
    if len(asked) < FEWEST_QUERIES:
        raise InputError(
            f"tuning needs at least {FEWEST_QUERIES} labelled queries, got {len(asked)}"
        )
    profile = checked_profile(start)
    if len(profile.signals) < 2 and _recency(profile) is None:
        raise InputError(f"profile {profile.name!r} has nothing to tune: it has one signal")
    require_count("k", k, at_least=1, at_most=MAX_K)
    require_aware("as_of", as_of)
    require_count("seed", seed, at_least=0, at_most=2**63)
    if on_progress is not None and not callable(on_progress):
        raise InputError(f"on_progress must be a function, got {on_progress!r:.80}")
    share = require_given_share("held_out", held_out)
    kept_back = round(share * len(asked))
    if not 1 <= kept_back < len(asked):
        raise InputError(
            f"held_out {share:g} of {len(asked)} queries leaves one of the two parts empty"
        )
    chosen = Filters.of(filters)
    vectors = yield from embedded_queries(asked)
    chosen = yield from narrowing(tables, chosen)
    order = list(range(len(asked)))
    Random(seed).shuffle(order)
    parts = [
        ([asked[place] for place in places], [vectors[place] for place in places])
        for places in (sorted(order[kept_back:]), sorted(order[:kept_back]))
    ]
    found = yield from _best(tables, agent_id, *parts[0], profile, chosen, as_of, seed, on_progress)
    evaluations = []
    for part in parts:
        evaluation = yield from measured(
            tables, agent_id, *part, (profile, found), k, chosen, {}, as_of, seed
        )
        evaluations.append(evaluation)
    return Tuning(profile, found, *evaluations)


def _best(
    tables: Tables,
    agent_id: str,
    asked: Sequence[CheckedQuery],
    vectors: Sequence[StoredVector | None],
    profile: Profile,
    filters: Filters,
    as_of: datetime | None,
    seed: int,
    on_progress: Callable[[int, int], Any] | None,
) -> Operation[Profile]:
    """The profile that does best on the training part."""
    # Every query says its own moment, so that the pairs keep what ages are computed from.
    asked = [replace(query, as_of=query.as_of or as_of) for query in asked]
    shape = TuningShape(
        replace(shape_of(asked, [profile], filters, None, {}), moments_differ=True),
        _recency(profile),
    )
    yield from hand_over(tables, asked, vectors)
    pairs = statements.pairs_table(shape)
    yield Execute(CreateTable(pairs))
    yield Execute(
        statements.draw_pairs(tables, shape, filters.where),
        {
            "owner_id": agent_id,
            "most": max(MAX_PAIRS // len(asked), 1),
            **filters.parameters,
            **weights_of([profile]),
        },
    )
    [spread] = yield Execute(statements.spread(shape))
    free = [bool(varies) for varies in spread]
    signals = list(shape.signals)
    recency = None if shape.recency is None else signals.index(shape.recency)
    tries = searching(_candidate(profile), free, seed, recency=recency)
    statement, worth, done = statements.judge(tables, shape), None, 0
    problem: Exception | None = None
    while problem is None:
        try:
            tried = next(tries) if worth is None else tries.send(worth)
        except StopIteration as end:
            best: Candidate = end.value
            break
        worth = yield from _judged(statement, shape, tried)
        done += 1
        problem = _told(on_progress, done)
    problem = problem or _told(on_progress, ROUNDS)
    yield Execute(DropTable(pairs))
    yield from take_back(tables)
    if problem is not None:
        raise problem
    return _tuned(profile, best, free)


def _told(on_progress: Callable[[int, int], Any] | None, done: int) -> Exception | None:
    """Tells how far it is; the caller's own error waits until the tables are dropped."""
    try:
        if on_progress is not None:
            on_progress(done, ROUNDS)
    except Exception as problem:
        return problem
    return None


def _judged(
    statement: Any, shape: TuningShape, tried: Sequence[Candidate]
) -> Operation[list[float]]:
    parameters: dict[str, Any] = {"candidate_numbers": list(range(len(tried)))}
    for place, signal in enumerate(shape.signals):
        parameters[weights_name(signal)] = [one.weights[place] for one in tried]
    if shape.recency is not None:
        parameters[statements.SPEEDS] = [_speed(shape.recency, one) for one in tried]
    rows = yield Execute(statement, parameters)
    found = {row.candidate: float(row.worth) for row in rows}
    # No row: no labelled memory is among those that may be ranked.
    return [found.get(number, 0.0) for number in range(len(tried))]


def _recency(profile: Profile) -> Recency | None:
    """The signal whose half-life can be tuned."""
    for signal, _ in profile:
        by_row = isinstance(signal, Recency) and (
            signal.half_lives_by_type or signal.half_lives_by_tier
        )
        if isinstance(signal, Recency) and not by_row:
            return signal
    return None


def _candidate(profile: Profile) -> Candidate:
    recency = _recency(profile)
    weights = tuple(weight for _, weight in profile)
    if recency is None:
        return Candidate(weights, None)
    return Candidate(weights, recency.half_life_in_days)


def _speed(recency: Recency, candidate: Candidate) -> float:
    assert candidate.half_life is not None
    if recency.curve is Curve.EXPONENTIAL:
        return rate_of(candidate.half_life)
    return candidate.half_life


def _tuned(profile: Profile, best: Candidate, free: Sequence[bool]) -> Profile:
    """The profile with the weights and half-life found, under a name of its own."""
    start, rounded = _candidate(profile), best.rounded(free)
    tuned = profile
    if best.weights != start.weights:
        names = [signal.name for signal, _ in profile]
        tuned = tuned.with_weights(**dict(zip(names, rounded.weights, strict=True)))
    if rounded.half_life is not None and best.half_life != start.half_life:
        tuned = tuned.with_half_life(rounded.half_life)
    return tuned.renamed(f"{profile.name}_tuned")
