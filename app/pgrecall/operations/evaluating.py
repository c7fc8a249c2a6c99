"""Evaluating profiles by labelled queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack, cast

from sqlalchemy.schema import DropTable

from pgrecall import profiles as built_in
from pgrecall import statements
from pgrecall.bootstrap import intervals
from pgrecall.checked_query import CheckedQuery, checked_query
from pgrecall.dates import Period, period_of, require_dates
from pgrecall.embedding import StoredVector
from pgrecall.errors import InputError
from pgrecall.evaluation import (
    FEWEST_OWNERS,
    METRICS,
    Difference,
    Evaluation,
    ProfileEvaluation,
    Scores,
)
from pgrecall.filters import FilterArguments, Filters
from pgrecall.labelled_query import LabelledQuery
from pgrecall.operations import flooring
from pgrecall.operations.question import MAX_K, checked_profile, narrowing, other_owners
from pgrecall.profile import Profile
from pgrecall.quoting import shortened
from pgrecall.schema import Layout, Tables
from pgrecall.search_arguments import SearchArguments
from pgrecall.signals import EntityOverlap, Keyword, Signal, Similarity
from pgrecall.statements import EvaluationShape, weight_name
from pgrecall.steps import Copy, Embed, Embedded, Execute, Inspect, Operation
from pgrecall.validation import (
    in_list,
    require_aware,
    require_count,
    require_owner,
    require_share,
    require_texts,
)


def evaluate(
    tables: Tables,
    /,
    agent_id: str | None,
    queries: Iterable[LabelledQuery],
    *,
    agents: Sequence[str] | None = None,
    profiles: Sequence[Profile | str] = (built_in.DEFAULT,),
    k: int = 10,
    min_score: float | None = None,
    min_similarity: float | None = None,
    teams: Sequence[str] = (),
    as_of: datetime | None = None,
    dates: str | None = None,
    seed: int = 0,
    **filters: Unpack[FilterArguments],
) -> Operation[Evaluation]:
    """How well these profiles find what answers the queries: recall@k, MRR and nDCG@k.

    All memories of the agent and of `teams` are ranked for every query by every profile, exactly as
    a search does it, in one statement; queries are handed over through temporary tables. A query
    is asked about its own moment, else `as_of`, else now, and about its own period, else that which
    its text names where `dates` is given. Thresholds and filters are those of `search`. Beside the
    profiles similarity alone, keyword alone and hybrid are always measured
    (`Evaluation.baselines`). Means are over the queries, and compared with those of the first
    profile: the interval holds the mean difference with 95 %, by paired bootstrap, the same for the
    same `seed`; over fewer than ten queries it is never called clear. Counts no retrieval.

    Queries may be about several agents: a query that names its `agent_id` is ranked among the
    memories of that one, the others among those of `agent_id`, which may be None where all name
    theirs. Nobody is asked but `agent_id` and `agents`, where one of them is given. From five
    owners on intervals are over owners, each with all its queries. Of queries that use has labelled
    (`LabelledQuery.recorded`) signals count as they were before their moment.

    Queries that no memory answers do not count in the means: `floors` tells for how many of them
    each `min_relevance` leaves nothing with the first profile, and what recall it costs.

    Raises InputError and its children; the error names the query, counted from 0.
    """
    require_aware("as_of", as_of)
    asked = with_owners(tables, dated(checked_queries(queries), dates, as_of), agent_id, agents)
    owners_with(tables, asked[0], teams)
    ranked = tuple(checked_profile(profile) for profile in _several(profiles))
    k = require_count("k", k, at_least=1, at_most=MAX_K)
    seed = require_count("seed", seed, at_least=0, at_most=2**63)
    floors: SearchArguments = {
        "min_score": require_share("min_score", min_score),
        "min_similarity": require_share("min_similarity", min_similarity),
    }
    if min_similarity is not None and any(query.query is None for query in asked):
        raise InputError("min_similarity needs a vector or a text in every query")
    chosen = Filters.of(filters)
    answers = answered(asked)
    vectors = yield from embedded_queries(asked)
    chosen = yield from narrowing(tables, chosen)
    given = {name: cast("float", floor) for name, floor in floors.items() if floor is not None}
    found = yield from measured(
        *(tables, teams, answers, of_answered(asked, vectors)),
        *(ranked, k, chosen, given, as_of, seed),
    )
    if len(answers) == len(asked):
        return found
    arguments: SearchArguments = {**filters, "teams": teams, "as_of": as_of, **floors}
    return replace(
        found,
        floors=(yield from flooring.floors(tables, asked, vectors, ranked[0], k, arguments)),
    )


def measured(
    tables: Tables,
    teams: Sequence[str],
    asked: Sequence[CheckedQuery],
    vectors: Sequence[StoredVector | None],
    profiles: Sequence[Profile],
    k: int,
    filters: Filters,
    floors: Mapping[str, float],
    as_of: datetime | None,
    seed: int,
) -> Operation[Evaluation]:
    """The evaluation of queries that are checked and embedded, one owner after the other."""
    ranked = (*profiles, *_baselines(profiles, asked, vectors))
    rows: dict[int, Any] = {}
    for numbers in by_owner(asked).values():
        theirs = [asked[number] for number in numbers]
        owners = owners_with(tables, theirs[0], teams)
        found = yield from _ranked(
            tables, owners, theirs, [vectors[n] for n in numbers], ranked, k, filters, floors, as_of
        )
        rows.update(zip(numbers, found, strict=True))
    return _evaluation(
        asked, profiles, ranked, [rows[number] for number in range(len(asked))], k, seed
    )


def _ranked(
    tables: Tables,
    owners: Sequence[str],
    asked: Sequence[CheckedQuery],
    vectors: Sequence[StoredVector | None],
    ranked: Sequence[Profile],
    k: int,
    filters: Filters,
    floors: Mapping[str, float],
    as_of: datetime | None,
) -> Operation[Sequence[Any]]:
    """Of each query its metrics by every profile."""
    asked, as_of = _one_moment(asked, as_of)
    shape = shape_of(owners, asked, ranked, filters, as_of, floors)
    yield from hand_over(tables, asked, vectors)
    if any(shape.redistributes) and shape.has_text:
        yield Execute(statements.drop_empty_texts(tables))
    rows: Sequence[Any] = yield Execute(
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
    return rows


def _baselines(
    profiles: Sequence[Profile],
    asked: Sequence[CheckedQuery],
    vectors: Sequence[StoredVector | None],
) -> list[Profile]:
    """What is measured beside these profiles: each once, and none that has nothing to compare."""
    told: dict[type[Signal], bool] = {
        Similarity: any(vector is not None for vector in vectors),
        Keyword: any(query.query_text is not None for query in asked),
    }
    return [
        baseline
        for baseline in built_in.BASELINES
        if any(told.get(type(signal), True) for signal in baseline.signals)
        and not any(profile.renamed(baseline.name) == baseline for profile in profiles)
    ]


def with_owners(
    tables: Tables,
    asked: Sequence[CheckedQuery],
    agent_id: str | None,
    agents: Sequence[str] | None,
) -> list[CheckedQuery]:
    """The queries, each with the owner whose memories it is about; raises InputError."""
    named = require_texts("agents", agents) or ()
    listed = dict.fromkeys(require_owner(tables, one, "agents") for one in named)
    own = None if agent_id is None else require_owner(tables, agent_id)
    if own is None and len(listed) == 1:
        [own] = listed
    allowed = listed if own is None else {own: None, **listed}
    found = []
    for number, query in enumerate(asked):
        owner = own
        if query.agent_id is not None:
            owner = require_owner(tables, query.agent_id, f"query {number}: agent_id")
        if owner is None:
            raise InputError(
                f"query {number} names no agent_id; without one for all of them each names its own"
            )
        if allowed and owner not in allowed:
            raise InputError(
                f"query {number} is about the memories of {shortened(query.agent_id)}, which is "
                "neither agent_id nor among agents"
            )
        found.append(replace(query, agent_id=owner))
    return found


def by_owner(asked: Sequence[CheckedQuery]) -> dict[str | None, list[int]]:
    """The numbers of each owner's queries."""
    found: dict[str | None, list[int]] = {}
    for number, query in enumerate(asked):
        found.setdefault(query.agent_id, []).append(number)
    return found


def owners_with(tables: Tables, query: CheckedQuery, teams: Sequence[str]) -> list[str]:
    """Among whose memories a query is ranked: its owner's and the teams'; raises InputError."""
    assert query.agent_id is not None
    return [query.agent_id, *other_owners(tables, query.agent_id, teams)]


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


def answered(asked: Sequence[CheckedQuery]) -> list[CheckedQuery]:
    """Those that some memory answers; raises InputError where there is none."""
    found = [query for query in asked if query.relevant]
    if not found:
        raise InputError("no labelled query names a memory that answers it")
    return found


def of_answered(
    asked: Sequence[CheckedQuery], vectors: Sequence[StoredVector | None]
) -> list[StoredVector | None]:
    """The vectors of those that some memory answers."""
    return [vector for query, vector in zip(asked, vectors, strict=True) if query.relevant]


def dated(
    asked: Sequence[CheckedQuery], dates: str | None, as_of: datetime | None
) -> list[CheckedQuery]:
    """The queries with the periods that their texts name, where they come without."""
    language = require_dates(dates)

    def found(query: CheckedQuery) -> Period | None:
        text = query.query if isinstance(query.query, str) else query.query_text
        if query.query_time is not None or text is None or language is None:
            return query.query_time
        return period_of(text, language, as_of=query.as_of or as_of)

    return [replace(query, query_time=found(query)) for query in asked]


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
        moments_differ=any(query.as_of is not None or query.recorded for query in asked),
        finds_entities=reads_entities and any(query.query_entities is None for query in asked),
        has_text=any(query.query_text is not None for query in asked),
        has_period=any(query.query_time is not None for query in asked),
        has_min_score="min_score" in floors,
        has_min_similarity="min_similarity" in floors,
        redistributes=tuple(profile.redistribute for profile in ranked),
        has_recorded=any(query.recorded for query in asked),
    )


def _one_moment(
    asked: Sequence[CheckedQuery], as_of: datetime | None
) -> tuple[Sequence[CheckedQuery], datetime | None]:
    """Where all are asked about the same moment, it is said once, and ages are computed once."""
    moments = {query.as_of or as_of for query in asked}
    if len(moments) > 1 or any(query.recorded for query in asked):
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
    yield from hand_over_queries(tables, asked, vectors, range(len(asked)))
    yield from hand_over_labels(tables, asked)


def hand_over_queries(
    tables: Tables,
    asked: Sequence[CheckedQuery],
    vectors: Sequence[StoredVector | None],
    numbers: Sequence[int],
) -> Operation[None]:
    """Copies the queries, which are known by these numbers, into a temporary table."""
    layout: Layout = yield Inspect()
    # Where nothing is rolled back, an attempt that failed has left it.
    yield Execute(DropTable(statements.queries_table(tables), if_exists=True))
    yield Execute(statements.create_queries(tables))
    yield Execute(statements.keep_whole(tables))
    rows = (
        (
            number,
            vector,
            query.as_of,
            query.query if isinstance(query.query, str) else None,
            query.query_text,
            None if query.query_entities is None else list(query.query_entities),
            query.recorded,
            *(query.query_time or (None, None)),
        )
        for number, query, vector in zip(numbers, asked, vectors, strict=True)
    )
    yield Copy(statements.queries_table(tables), rows, layout.embedding_oid)


def hand_over_labels(tables: Tables, asked: Sequence[CheckedQuery]) -> Operation[None]:
    """Copies the labels of the queries into a temporary table."""
    layout: Layout = yield Inspect()
    yield Execute(DropTable(statements.relevant_table(tables), if_exists=True))
    yield Execute(statements.create_relevant(tables))
    yield Copy(statements.relevant_table(tables), _labels(asked), layout.embedding_oid)


def take_back(tables: Tables) -> Operation[None]:
    """Drops the temporary tables: in a caller's transaction they would stay."""
    yield Execute(DropTable(statements.queries_table(tables)))
    yield Execute(DropTable(statements.relevant_table(tables)))


def _labels(asked: Sequence[CheckedQuery]) -> Iterator[tuple[Any, ...]]:
    for number, query in enumerate(asked):
        for memory_id, gain in query.relevant.items():
            yield number, memory_id, gain


def _evaluation(
    asked: Sequence[CheckedQuery],
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
    for number, query in enumerate(asked):
        if query.group is not None:
            groups.setdefault(query.group, []).append(number)
    owners = [query.agent_id for query in asked]
    overall = _scores(values, range(len(asked)), owners, seed)
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
    """Of each profile over the queries of these numbers."""
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
