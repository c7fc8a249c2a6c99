"""Tuning a profile by labelled queries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from inspect import iscoroutine, iscoroutinefunction
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
    owners_of,
    shape_of,
    take_back,
    weights_of,
)
from pgrecall.operations.question import MAX_K, checked_profile, narrowing, other_owners
from pgrecall.profile import Profile
from pgrecall.quoting import shortened
from pgrecall.schema import Tables
from pgrecall.signals import Curve, Recency, rate_of
from pgrecall.statements import TuningShape, weights_name
from pgrecall.steps import Execute, Operation
from pgrecall.tuning import Tuning
from pgrecall.validation import (
    require_aware,
    require_callable,
    require_count,
    require_given_share,
    require_owner,
)
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
    teams: Sequence[str] = (),
    as_of: datetime | None = None,
    seed: int = 0,
    on_progress: Callable[[int, int], Any] | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Tuning]:
    """Searches the weights of a profile's signals, and the half-life of its recency, that put what
    answers the queries first.

    The queries are divided by chance, copies of one question together: by the training part
    candidates are judged (mean nDCG over all ranks, among the memories that any sensible weights
    would put first), and the rest, a share `held_out` of the questions, tells how the best of them
    does on queries that it was not chosen by, ranked exactly as `evaluate` does. A signal that is
    the same for all memories keeps its weight: the queries tell nothing of it. `Tuning.proposed` is
    None where it does no better there, and `verdict` says when the evidence is too thin. Half-lives
    by type or tier stay as they are. The same `seed` gives the same result. `on_progress(done, of)`
    is called between rounds; it cannot be a coroutine function.

    Raises InputError and its children.
    """
    agent_id = require_owner(tables, agent_id)
    owners = [agent_id, *other_owners(tables, agent_id, teams)]
    asked = checked_queries(queries)
    _require_enough(len(asked), len(asked))
    profile = checked_profile(start)
    if len(profile.signals) < 2 and _recency(profile) is None:
        raise InputError(
            f"profile {shortened(profile.name)} has nothing to tune: it has one signal"
        )
    k = require_count("k", k, at_least=1, at_most=MAX_K)
    require_aware("as_of", as_of)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    _require_progress(on_progress)
    share = require_given_share("held_out", held_out)
    _number_kept_back(share, len(asked))
    chosen = Filters.of(filters)
    vectors = yield from embedded_queries(asked)
    questions = list(map(_question, asked, vectors))
    kept_back = _kept_back(questions, share, seed)
    chosen = yield from narrowing(tables, chosen)
    parts: list[tuple[list[CheckedQuery], list[StoredVector | None]]] = [([], []), ([], [])]
    for query, vector, question in zip(asked, vectors, questions, strict=True):
        queries_there, vectors_there = parts[question in kept_back]
        queries_there.append(query)
        vectors_there.append(vector)
    found = yield from _best(tables, owners, *parts[0], profile, chosen, as_of, seed, on_progress)
    evaluations = []
    for part in parts:
        evaluation = yield from measured(
            tables, owners, *part, (profile, found), k, chosen, {}, as_of, seed
        )
        evaluations.append(evaluation)
    training, held_back = evaluations
    return Tuning(profile, found, training, held_back, len(kept_back))


def _require_progress(on_progress: object) -> None:
    require_callable("on_progress", on_progress)
    if iscoroutinefunction(on_progress) or iscoroutinefunction(type(on_progress).__call__):
        raise _cannot_be_awaited(on_progress)


def _cannot_be_awaited(on_progress: object) -> InputError:
    return InputError(
        "on_progress of tune is called amid a transaction and cannot be awaited; pass a plain "
        f"function, got {shortened(on_progress)}"
    )


def _require_enough(different: int, queries: int) -> None:
    if different < FEWEST_QUERIES:
        ones = "" if different == queries else f" different ones among {queries}"
        raise InputError(
            f"tuning needs at least {FEWEST_QUERIES} labelled queries, got {different}{ones}"
        )


def _question(query: CheckedQuery, vector: StoredVector | None) -> Hashable:
    """The same for copies of one question, which would be known already if they were kept back."""
    words = None if query.query_text is None else _plain(query.query_text)
    if isinstance(query.query, str):
        return _plain(query.query), words
    if vector is not None:
        return tuple(vector.to_list()), words
    # Without a vector or words the moment and the entities are all that is asked.
    return words or (query.as_of, tuple(query.query_entities or ()))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _kept_back(questions: Sequence[Hashable], share: float, seed: int) -> set[Hashable]:
    """The questions that are not tuned by, drawn by chance."""
    different = list(dict.fromkeys(questions))
    _require_enough(len(different), len(questions))
    number = _number_kept_back(share, len(different))
    Random(seed).shuffle(different)
    return set(different[:number])


def _number_kept_back(share: float, queries: int) -> int:
    number = round(share * queries)
    if not 1 <= number < queries:
        raise InputError(
            f"held_out {share:g} of {queries} queries leaves one of the two parts empty"
        )
    return number


def _best(
    tables: Tables,
    owners: Sequence[str],
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
        replace(shape_of(owners, asked, [profile], filters, None, {}), moments_differ=True),
        _recency(profile),
    )
    yield from hand_over(tables, asked, vectors)
    pairs = statements.pairs_table(shape)
    yield Execute(DropTable(pairs, if_exists=True))  # as in hand_over
    yield Execute(CreateTable(pairs))
    yield Execute(
        statements.draw_pairs(tables, shape, filters.where),
        {
            **owners_of(owners),
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
        told = None if on_progress is None else on_progress(done, ROUNDS)
    except Exception as problem:
        return problem
    if iscoroutine(told):
        told.close()
        return _cannot_be_awaited(on_progress)
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
