"""Ranking memories."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Unpack

from pgrecall import profiles, statements
from pgrecall.embedding import VectorLike
from pgrecall.errors import InputError
from pgrecall.filters import FilterArguments, Filters
from pgrecall.operations.changing import touch as touch_
from pgrecall.operations.reading import memory
from pgrecall.profile import Profile
from pgrecall.schema import Layout, Tables
from pgrecall.scored_memory import ScoredMemory, contributions
from pgrecall.steps import Embed, Embedded, Execute, Inspect, Operation
from pgrecall.validation import (
    require_aware,
    require_count,
    require_name,
    require_share,
    require_text,
)

MAX_K = 1_000_000


def search(
    tables: Tables,
    /,
    agent_id: str,
    embedding: VectorLike | str,
    *,
    k: int = 10,
    profile: Profile | str = profiles.five_factor,
    weights: Mapping[str, float] | None = None,
    min_score: float | None = None,
    min_similarity: float | None = None,
    as_of: datetime | None = None,
    touch: bool = True,
    **filters: Unpack[FilterArguments],
) -> Operation[list[ScoredMemory]]:
    """The agent's k best memories for a query, best first, ties by id.

    `embedding` is the query's vector, or its text when the repository has an embedder. `profile`
    is a Profile or the name of a built-in one; `weights` replaces its weights for this query
    (signals not named weigh 0, the sum must be 1). `min_similarity` leaves memories out before
    scoring, `min_score` after. `as_of` is the moment asked about: ages, validity and expiry are
    those of that moment, and what was created later is hidden; by default it is now. `touch`
    counts the retrieval of each hit in the same transaction. Filters: see FilterArguments.

    Raises InputError and its children for a value that cannot be used, DatabaseReadOnly when
    touching where nothing may be written.
    """
    require_name("agent_id", agent_id)
    require_count("k", k, at_least=1, at_most=MAX_K)
    min_score = require_share("min_score", min_score)
    min_similarity = require_share("min_similarity", min_similarity)
    require_aware("as_of", as_of)
    chosen = _profile(profile, weights)
    chosen_filters = Filters.of(filters)
    vector = embedding
    if isinstance(vector, str):
        text = require_text("the query", vector)
        if not text.strip():
            raise InputError("the query is empty")
        embedded: Embedded = yield Embed((text,), as_query=True)
        vector = embedded.vectors[0]
    layout: Layout = yield Inspect()
    rows = yield Execute(
        statements.search(
            tables,
            agent_id,
            layout.vector(vector),
            k=k,
            profile=chosen,
            filters=chosen_filters,
            min_score=min_score,
            min_similarity=min_similarity,
            as_of=as_of,
        )
    )
    hits = [_hit(chosen, row._mapping) for row in rows]
    if touch and hits:
        yield from touch_(tables, agent_id, [hit.memory.id for hit in hits])
    return hits


def _profile(profile: Profile | str, weights: Mapping[str, float] | None) -> Profile:
    if isinstance(profile, str):
        profile = profiles.named(profile)
    if not isinstance(profile, Profile):
        raise InputError(f"profile must be a Profile or a name, got {type(profile).__name__}")
    return profile if weights is None else profile.with_weights(**weights)


def _hit(profile: Profile, row: Mapping[Any, Any]) -> ScoredMemory:
    signals = {
        signal.name: float(row[statements.SIGNAL_PREFIX + signal.name])
        for signal in profile.signals
    }
    return ScoredMemory(
        memory=memory(row),
        score=row["score"],
        similarity=row["similarity"],
        signals=signals,
        contributions=contributions(profile, signals),
    )
