"""Checks judged queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgrecall.core.checks import checked
from pgrecall.core.dates import Period
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import (
    in_list,
    require_id,
    require_name,
    require_query,
)
from pgrecall.core.vectors import StoredVector
from pgrecall.errors import InputError
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.ranking.arguments import SearchArguments

MAX_GAIN = 1e6


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A checked JudgedQuery."""

    query: Any
    relevant: Mapping[UUID, float]
    group: str | None
    as_of: datetime | None
    query_text: str | None
    query_entities: Sequence[str] | None
    agent_id: str | None
    query_time: Period | None
    names: int | None = None
    """How many names stand for query_entities, if these were found in the text."""
    vector: StoredVector | None = None
    """The vector of `query`, after embedding and checking its dimensions."""


def checked_query(query: object) -> CheckedQuery:
    """Checks one query; raises InputError."""
    if not isinstance(query, JudgedQuery):
        raise InputError(f"a judged query must be a JudgedQuery, got {type(query).__name__}")
    text = query.query_text
    if isinstance(query.query, str):
        require_query(query.query)
        text = query.query if text is None else text
    names = ("as_of", "query_entities", "query_time")
    arguments = {name: getattr(query, name) for name in names} | {"query_text": text}
    values = checked(SearchArguments, arguments)
    irrelevant = in_list(query.irrelevant)
    if irrelevant is None:
        raise InputError(f"irrelevant must be ids of memories, got {shortened(query.irrelevant)}")
    for one in irrelevant:
        require_id(one)
    if query.group is not None:
        require_name("group", query.group)
    owner = query.agent_id
    entities = values.get("query_entities")
    if entities is None and not isinstance(query.query, str) and text is None:
        entities = []  # only a text can contain known entities
    return CheckedQuery(
        query=query.query,
        relevant=_relevant(query.relevant),
        group=query.group,
        as_of=query.as_of,
        query_text=text,
        query_entities=entities,
        query_time=values.get("query_time"),
        agent_id=str(owner) if isinstance(owner, UUID) else owner,
    )


def _relevant(relevant: object) -> dict[UUID, float]:
    several = in_list(relevant)
    if several is None:
        raise InputError(f"relevant must be ids of memories, got {shortened(relevant)}")
    pairs: Iterable[tuple[Any, Any]] = (
        relevant.items() if isinstance(relevant, Mapping) else ((one, 1.0) for one in several)
    )
    gains: dict[UUID, float] = {}
    for memory_id, gain in pairs:
        if (
            isinstance(gain, bool)
            or not isinstance(gain, int | float)
            or not 1e-6 <= gain <= MAX_GAIN
        ):
            raise InputError(f"a gain must lie within 1e-6 and {MAX_GAIN:g}, got {shortened(gain)}")
        gains[require_id(memory_id)] = float(gain)
    return gains
