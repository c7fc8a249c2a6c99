"""Compares searches that use a rank index with exact ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any
from uuid import UUID

from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Ask, Job, Operation, Part
from pgrecall.core.validation import in_list, require_callable, require_count
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.rank_index import building
from pgrecall.rank_index.index import RankIndexCheck
from pgrecall.ranking.hits import Hits, Strategy
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.scoring.profile import Profile
from pgrecall.search.searching import search

SAMPLE = 50


def check_rank_index(
    agent_id: str | UUID,
    *,
    sample: int = SAMPLE,
    queries: Sequence[VectorLike | str] | None = None,
    k: int = 10,
    profile: Profile | str | None = None,
    weights: Mapping[str, float] | None = None,
    on_progress: Callable[[int, int], Any] | None = None,
) -> Job[RankIndexCheck]:
    """Compares searches that use an agent's rank index with exact ones: their recall and time.

    The queries are `queries`, or the embeddings of `sample` random memories of the agent. No
    retrievals are counted. `on_progress(done, total)` is called after each query. Raises InputError
    if there are no queries.
    """
    require_count("sample", sample, at_least=1, at_most=10_000)
    require_callable("on_progress", on_progress)
    owner_id: str = yield Part(partial(_owner, agent_id=agent_id))
    asked = [] if queries is None else in_list(queries)
    if asked is None:
        raise InputError(f"queries must be a list of texts or vectors, got {shortened(queries)}")
    if queries is None:
        asked = yield Part(partial(building.sampled, owner_id=owner_id, number=sample))
    if not asked:
        raise InputError(
            f"agent {shortened(owner_id)} has no embedded memories to use as queries; pass queries"
        )
    recalls: list[float] = []
    times: dict[Strategy, list[float]] = {"exact": [], "index": []}
    in_index = 0
    for number, query in enumerate(asked, start=1):
        hits: dict[Strategy, Hits] = {}
        for strategy in ("exact", "index") if number % 2 else ("index", "exact"):
            start = time.perf_counter()
            hits[strategy] = yield Part(
                partial(
                    search,
                    agent_id=agent_id,
                    query=query,
                    k=k,
                    profile=profile,
                    weights=weights,
                    strategy=strategy,
                    touch=False,
                )
            )
            times[strategy].append(1e3 * (time.perf_counter() - start))
        exact, index = ({hit.memory.id for hit in hits[s]} for s in ("exact", "index"))
        recalls.append(len(exact & index) / len(exact) if exact else 1.0)
        in_index += hits["index"].strategy == "index"
        if on_progress is not None:
            yield Ask(on_progress, (number, len(asked)))
    return RankIndexCheck(
        agent_id=owner_id,
        profile=hits["exact"].profile,
        k=k,
        queries=len(asked),
        recall=fmean(recalls),
        worst=min(recalls),
        exact_ms=median(times["exact"]),
        index_ms=median(times["index"]),
        in_index=in_index,
    )


def _owner(tables: Tables, agent_id: str | UUID) -> Operation[str]:
    """The agent's id as stored."""
    yield from ()
    return require_owner(tables, agent_id)
