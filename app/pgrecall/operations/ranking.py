"""Ranking memories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack, get_args
from uuid import UUID

from pgrecall import profiles, statements
from pgrecall.embedding import VectorLike
from pgrecall.errors import InputError
from pgrecall.filters import FilterArguments
from pgrecall.hits import Hits, Strategy
from pgrecall.operations.candidates import through_indexes
from pgrecall.operations.question import Question
from pgrecall.operations.reading import memory
from pgrecall.profile import Profile
from pgrecall.quoting import shortened
from pgrecall.schema import Tables
from pgrecall.scored_memory import ScoredMemory, contributions
from pgrecall.statements import Search
from pgrecall.steps import Execute, Operation
from pgrecall.validation import require_bool, require_count

MAX_STEPS = 2
"""How far from a hit a neighbour may be."""


def search(
    tables: Tables,
    /,
    agent_id: str,
    embedding: VectorLike | str | None = None,
    *,
    k: int = 10,
    profile: Profile | str = profiles.five_factor,
    weights: Mapping[str, float] | None = None,
    normalise_weights: bool = False,
    min_score: float | None = None,
    min_similarity: float | None = None,
    teams: Sequence[str] = (),
    query_entities: Sequence[str] | None = None,
    query_text: str | None = None,
    apply_decay: bool = True,
    as_of: datetime | None = None,
    expand: int = 0,
    strategy: Strategy = "auto",
    touch: bool = True,
    **filters: Unpack[FilterArguments],
) -> Operation[Hits]:
    """The agent's k best memories for a query, best first, ties by id.

    `embedding` is the query's vector, its text when the repository has an embedder, or None to
    rank by the other signals. `profile` is a Profile or the name of a built-in one; `weights`
    replaces its weights for this query (signals not named weigh 0), which must sum to 1 unless
    `normalise_weights` divides them by their sum. `min_similarity` leaves memories out before
    scoring, `min_score` after.

    `teams` brings the memories of these teams into the same ranking. `query_entities` are what
    the entity signal compares with; when they are not given, those known entities that occur in
    the query's text are taken. `query_text` is what the keyword signal compares with, the query's
    own text where that is one; without a word that counts the signal is 0 for every memory, and
    with `normalise_weights` its weight goes to the others. `apply_decay=False` ranks by trust as
    stored.

    `as_of` is the moment asked about: ages, validity and expiry are those of that moment, and
    what was created later is hidden; by default it is now. `expand=1` brings along what is linked
    to the hits, `expand=2` also what is linked to that: at most k neighbours that pass the same
    filters and thresholds, ranked among the hits by the same score and told by `steps`. `touch`
    counts the retrieval of each memory returned, in the same transaction. Filters: see
    FilterArguments.

    `strategy` is how to look: "exact" scores every memory; "index" scores the candidates of the
    agent's rank index (`build_rank_indexes`) and what was written, changed or used since, and
    every memory where that could not answer as well; "auto" takes the index of an agent that has
    enough memories unless signals that it does not know weigh more than a tenth. The list that
    is returned tells by its `strategy` how it was answered.

    Raises InputError and its children for a value that cannot be used, DatabaseReadOnly when
    touching where nothing may be written.
    """
    require_bool("touch", touch)
    require_strategy(strategy)
    require_count("expand", expand, at_least=0, at_most=MAX_STEPS)
    asked = Question.of(
        tables,
        agent_id,
        embedding,
        k=k,
        profile=profile,
        weights=weights,
        normalise_weights=normalise_weights,
        min_score=min_score,
        min_similarity=min_similarity,
        teams=teams,
        query_entities=query_entities,
        query_text=query_text,
        apply_decay=apply_decay,
        as_of=as_of,
        filters=filters,
    )
    wanted = yield from asked.resolved(tables)
    found = yield from through_indexes(tables, wanted, strategy)
    if found is None:
        rows = yield Execute(statements.search(tables, wanted), wanted.parameters)
        hits = Hits(hit(wanted.profile, row._mapping) for row in rows)
    else:
        scored = (hit(wanted.profile, row._mapping) for row in found.rows)
        hits = Hits(scored, strategy="index", candidates=found.total)
    if expand and hits:
        hits[:] = yield from _with_neighbours(tables, wanted, hits, expand)
    if touch:
        yield from touched(tables, hits)
    return hits


def require_strategy(strategy: object) -> None:
    """Raises InputError for what is no Strategy."""
    known = get_args(Strategy)
    if not isinstance(strategy, str) or strategy not in known:
        raise InputError(f"strategy must be one of {', '.join(known)}, got {shortened(strategy)}")


def _with_neighbours(
    tables: Tables, wanted: Search, hits: list[ScoredMemory], steps: int
) -> Operation[list[ScoredMemory]]:
    """The hits and what is linked to them, best first."""
    rows = yield Execute(
        statements.neighbours(tables, wanted, steps=steps),
        wanted.parameters
        | {
            "hit_owners": [one.memory.owner_id for one in hits],
            "hit_ids": [one.memory.id for one in hits],
        },
    )
    found = (hit(wanted.profile, row._mapping) for row in rows)
    return sorted([*hits, *found], key=_place)


def _place(found: ScoredMemory) -> tuple[float, UUID]:
    return -found.score, found.memory.id


def hit(profile: Profile, row: Mapping[Any, Any]) -> ScoredMemory:
    """A row of `statements.search` as a record."""
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
        steps=row.get(statements.STEPS, 0),
    )


def touched(tables: Tables, hits: Sequence[ScoredMemory]) -> Operation[None]:
    """Counts the hits owner by owner, in the order of the key."""
    owners: dict[str, list[UUID]] = defaultdict(list)
    for found in hits:
        owners[found.memory.owner_id].append(found.memory.id)
    for owner_id, ids in sorted(owners.items()):
        yield Execute(statements.touch(tables), {"agent": owner_id, "memory_ids": ids})
