"""Evaluating profiles by labelled queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from sqlalchemy.schema import DropTable

from pgrecall import profiles as built_in
from pgrecall import statements
from pgrecall.bootstrap import intervals
from pgrecall.checked_query import CheckedQuery, checked_query
from pgrecall.embedding import StoredVector
from pgrecall.errors import InputError
from pgrecall.evaluation import METRICS, Difference, Evaluation, ProfileEvaluation, Scores
from pgrecall.filters import FilterArguments, Filters
from pgrecall.labelled_query import LabelledQuery
from pgrecall.operations.question import MAX_K, checked_profile, narrowing, other_owners
from pgrecall.profile import Profile
from pgrecall.schema import Layout, Tables
from pgrecall.signals import EntityOverlap
from pgrecall.statements import EvaluationShape, weight_name
from pgrecall.steps import Copy, Embed, Embedded, Execute, Inspect, Operation
from pgrecall.validation import (
    in_list,
    require_aware,
    require_count,
    require_owner,
    require_share,
)


def evaluate(
    tables: Tables,
    /,
    agent_id: str,
    queries: Iterable[LabelledQuery],
    *,
    profiles: Sequence[Profile | str] = (built_in.five_factor,),
    k: int = 10,
    min_score: float | None = None,
    min_similarity: float | None = None,
    teams: Sequence[str] = (),
    as_of: datetime | None = None,
    seed: int = 0,
    **filters: Unpack[FilterArguments],
) -> Operation[Evaluation]:
    """How well these profiles find what answers the queries: recall@k, MRR and nDCG@k.

    All memories of the agent and of `teams` are ranked for every query by every profile, exactly as
    a search does it, in one statement; queries are handed over through temporary tables. A query
    is asked about its own moment, else `as_of`, else now. Thresholds and filters are those of
    `search`. Means are over the queries, and compared with those of the first profile: the interval
    holds the mean difference with 95 %, by paired bootstrap, the same for the same `seed`; over
    fewer than ten queries it is never called clear. Counts no retrieval.

    Raises InputError and its children; the error names the query, counted from 0.
    """
    agent_id = require_owner(tables, agent_id)
    owners = [agent_id, *other_owners(tables, agent_id, teams)]
    asked = checked_queries(queries)
    ranked = tuple(checked_profile(profile) for profile in _several(profiles))
    k = require_count("k", k, at_least=1, at_most=MAX_K)
    require_aware("as_of", as_of)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    floors = {
        "min_score": require_share("min_score", min_score),
        "min_similarity": require_share("min_similarity", min_similarity),
    }
    if min_similarity is not None and any(query.query is None for query in asked):
        raise InputError("min_similarity needs a vector or a text in every query")
    chosen = Filters.of(filters)
    vectors = yield from embedded_queries(asked)
    chosen = yield from narrowing(tables, chosen)
    given = {name: floor for name, floor in floors.items() if floor is not None}
    return (
        yield from measured(tables, owners, asked, vectors, ranked, k, chosen, given, as_of, seed)
    )


def measured(
    tables: Tables,
    owners: Sequence[str],
    asked: Sequence[CheckedQuery],
    vectors: Sequence[StoredVector | None],
    ranked: Sequence[Profile],
    k: int,
    filters: Filters,
    floors: Mapping[str, float],
    as_of: datetime | None,
    seed: int,
) -> Operation[Evaluation]:
    """The evaluation of queries that are checked and embedded."""
    asked, as_of = _one_moment(asked, as_of)
    shape = shape_of(owners, asked, ranked, filters, as_of, floors)
    yield from hand_over(tables, asked, vectors)
    rows = yield Execute(
        statements.evaluate(tables, shape, filters.where),
        {
            **owners_of(owners),
            "k": k,
            **({} if as_of is None else {"as_of": as_of}),
            **filters.parameters,
            **floors,
            **weights_of(ranked),
        },
    )
    yield from take_back(tables)
    return _evaluation(asked, ranked, rows, k, seed)


def owners_of(owners: Sequence[str]) -> dict[str, Any]:
    """Whose memories are ranked, under the name it is bound by."""
    return {"owner_id": owners[0]} if len(owners) == 1 else {"owners": list(owners)}


def weights_of(ranked: Sequence[Profile]) -> dict[str, float]:
    """The weights of profiles, under the names they are bound by."""
    return {
        weight_name(number, signal): weight
        for number, profile in enumerate(ranked)
        for signal, weight in profile
    }


def checked_queries(queries: object) -> list[CheckedQuery]:
    """Raises InputError naming the query, or where there is none."""
    several = None if isinstance(queries, Mapping) else in_list(queries)
    if several is None:
        raise InputError(f"queries is a list of LabelledQuery, got {type(queries).__name__}")
    asked = []
    for number, query in enumerate(several):
        try:
            asked.append(checked_query(query))
        except InputError as error:
            raise type(error)(f"query {number}: {error}") from None
    if not asked:
        raise InputError("there is no labelled query")
    return asked


def _several(profiles: object) -> list[object]:
    several = [profiles] if isinstance(profiles, str | Profile) else in_list(profiles)
    if several is None:
        raise InputError(f"profiles is a list of profiles, got {type(profiles).__name__}")
    if not several:
        raise InputError("an evaluation needs at least one profile")
    return several


def shape_of(
    owners: Sequence[str],
    asked: Sequence[CheckedQuery],
    ranked: Sequence[Profile],
    filters: Filters,
    as_of: datetime | None,
    floors: Mapping[str, float],
) -> EvaluationShape:
    """What the statement of these queries and profiles depends on."""
    reads_entities = any(
        isinstance(signal, EntityOverlap) for profile in ranked for signal, _ in profile
    )
    return EvaluationShape(
        profiles=tuple(tuple(profile.signals) for profile in ranked),
        filters=filters.shape,
        has_teams=len(owners) > 1,
        has_as_of=as_of is not None,
        moments_differ=any(query.as_of is not None for query in asked),
        finds_entities=reads_entities and any(query.query_entities is None for query in asked),
        has_text=any(query.query_text is not None for query in asked),
        has_min_score="min_score" in floors,
        has_min_similarity="min_similarity" in floors,
    )


def _one_moment(
    asked: Sequence[CheckedQuery], as_of: datetime | None
) -> tuple[Sequence[CheckedQuery], datetime | None]:
    """Where all are asked about the same moment, it is said once, and ages are computed once."""
    moments = {query.as_of or as_of for query in asked}
    if len(moments) > 1:
        return asked, as_of
    return [replace(query, as_of=None) for query in asked], moments.pop()


def embedded_queries(asked: Sequence[CheckedQuery]) -> Operation[list[StoredVector | None]]:
    """The vector of each query; texts are embedded."""
    given: list[Any] = []
    for query in asked:
        vector = query.query
        if isinstance(vector, str):
            embedded: Embedded = yield Embed((vector,), as_query=True)
            vector = embedded.vectors[0]
        given.append(vector)
    layout: Layout = yield Inspect()
    vectors = []
    for number, vector in enumerate(given):
        try:
            vectors.append(None if vector is None else layout.vector(vector))
        except InputError as error:
            raise type(error)(f"query {number}: {error}") from None
    return vectors


def hand_over(
    tables: Tables, asked: Sequence[CheckedQuery], vectors: Sequence[StoredVector | None]
) -> Operation[None]:
    """Copies the queries and their labels into temporary tables."""
    layout: Layout = yield Inspect()
    # Where nothing is rolled back, an attempt that failed has left them.
    yield from take_back(tables, if_exist=True)
    yield Execute(statements.create_queries(tables))
    yield Execute(statements.keep_whole(tables))
    yield Execute(statements.create_relevant(tables))
    rows = (
        (
            number,
            vector,
            query.as_of,
            query.query if isinstance(query.query, str) else None,
            query.query_text,
            None if query.query_entities is None else list(query.query_entities),
        )
        for number, (query, vector) in enumerate(zip(asked, vectors, strict=True))
    )
    yield Copy(statements.queries_table(tables), rows, layout.embedding_oid)
    yield Copy(statements.relevant_table(tables), _labels(asked), layout.embedding_oid)


def take_back(tables: Tables, *, if_exist: bool = False) -> Operation[None]:
    """Drops the temporary tables: in a caller's transaction they would stay."""
    yield Execute(DropTable(statements.queries_table(tables), if_exists=if_exist))
    yield Execute(DropTable(statements.relevant_table(tables), if_exists=if_exist))


def _labels(asked: Sequence[CheckedQuery]) -> Iterator[tuple[Any, ...]]:
    for number, query in enumerate(asked):
        for memory_id, gain in query.relevant.items():
            yield number, memory_id, gain


def _evaluation(
    asked: Sequence[CheckedQuery],
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
    for number, query in enumerate(asked):
        if query.group is not None:
            groups.setdefault(query.group, []).append(number)
    overall = _scores(values, range(len(asked)), seed)
    by_group = {name: _scores(values, numbers, seed) for name, numbers in groups.items()}
    return Evaluation(
        k=k,
        profiles=tuple(
            ProfileEvaluation(
                profile,
                overall[number],
                {name: scores[number] for name, scores in by_group.items()},
                values[number],
            )
            for number, profile in enumerate(ranked)
        ),
        missing=sum(row.missing for row in rows),
    )


def _scores(
    values: Sequence[Mapping[str, Sequence[float]]], numbers: Sequence[int], seed: int
) -> list[Scores]:
    """Of each profile over the queries of these numbers."""
    first, size = values[0], len(numbers)
    compared = [(profile, name) for profile in range(1, len(values)) for name in METRICS]
    paired = [
        [values[profile][name][number] - first[name][number] for number in numbers]
        for profile, name in compared
    ]
    differences: list[dict[str, Difference]] = [{} for _ in values]
    for (profile, name), sample, (low, high) in zip(
        compared, paired, intervals(paired, seed), strict=True
    ):
        differences[profile][name] = Difference(math.fsum(sample) / size, low, high, size)
    return [
        Scores(
            size,
            {name: math.fsum(of[name][number] for number in numbers) / size for name in METRICS},
            differences[profile],
        )
        for profile, of in enumerate(values)
    ]
