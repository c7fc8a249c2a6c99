"""Compares searches that use a rank index with exact ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any
from uuid import UUID

from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Ask, Job, Part
from pgrecall.core.validation import require_count
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.rank_index import building
from pgrecall.rank_index.index import RankIndexCheck
from pgrecall.ranking.hits import Hits, Strategy
from pgrecall.scoring.profile import Profile
from pgrecall.search.searching import search

SAMPLE = 50


def check_rank_index(
    agent_id: str | UUID,
    *,
    sample: int = SAMPLE,
    queries: Sequence[VectorLike | str] | None = None,
    k: int = 10,
    profile: Profile | str,
    on_progress: Callable[[int, int], Any],
) -> Job[RankIndexCheck]:
    """Compares searches that use an agent's rank index with exact ones: their recall and time.

    The queries are `queries`, or the embeddings of `sample` random memories of the agent. No
    retrievals are counted. `on_progress(done, total)` is called after each query. Raises InputError
    if there are no queries.
    """
    require_count("sample", sample, at_least=1, at_most=10_000)
    [owner_id] = yield Part(partial(building.owners, at_least=1, agent_id=agent_id))
    samples = queries or (yield Part(partial(building.sampled, owner_id=owner_id, number=sample)))
    if not samples:
        raise InputError(
            f"agent {shortened(agent_id)} has no embedded memories to use as queries; name a file "
            "of them"
        )
    recalls: list[float] = []
    times: dict[Strategy, list[float]] = {"exact": [], "index": []}
    in_index = 0
    for number, query in enumerate(samples, start=1):
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
                    strategy=strategy,
                    touch=False,
                )
            )
            times[strategy].append(1e3 * (time.perf_counter() - start))
        exact, index = ({hit.memory.id for hit in hits[s]} for s in ("exact", "index"))
        recalls.append(len(exact & index) / len(exact) if exact else 1.0)
        in_index += hits["index"].strategy == "index"
        yield Ask(on_progress, (number, len(samples)))
    return RankIndexCheck(
        agent_id=owner_id,
        profile=hits["exact"].profile,
        k=k,
        queries=len(samples),
        recall=fmean(recalls),
        worst=min(recalls),
        exact_ms=median(times["exact"]),
        index_ms=median(times["index"]),
        in_index=in_index,
    )
