"""Checks judged queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime, tzinfo
from typing import Any
from uuid import UUID

from pgrecall.core.checks import checked
from pgrecall.core.dates import Period, found_period
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Operation
from pgrecall.core.validation import (
    in_list,
    require_ends,
    require_id,
    require_name,
    require_period,
    require_query,
)
from pgrecall.core.vectors import StoredVector, VectorLike
from pgrecall.errors import InputError
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.question import embedded, other_owners
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner, require_owners


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query of an evaluation. It is checked when it is used, before anything is sent."""

    query: VectorLike | str | None
    """Its text, its vector, or None to rank without either."""
    relevant: Iterable[UUID | str] | Mapping[UUID, float] | Mapping[str, float]
    """The ids of the memories that answer it, optionally with a gain above 0 (default 1). Empty: no
    memory does; such queries are for evaluating floors."""
    _: KW_ONLY
    group: str | None = None
    """The kind of query, for results by group."""
    as_of: datetime | None = None
    """The `as_of` of its search; None: that of the evaluation."""
    keywords: str | None = None
    """Its text, if `query` is a vector. Entities are found in it too."""
    entities: Sequence[str] | None = None
    """Its entities; None: those found in its text."""
    agent_id: str | UUID | None = None
    """The owner whose memories it is about; None: the evaluation's `agent_id`."""
    period: tuple[datetime, datetime] | None = None
    """Its period, start and end; None: that of the evaluation."""
    irrelevant: Iterable[UUID | str] = ()
    """The ids of memories that somebody judged not to answer it. No measure reads them: what is not
    relevant does not count."""

    def __post_init__(self) -> None:
        if isinstance(self.relevant, Iterator):  # an iterator can only be used once
            object.__setattr__(self, "relevant", list(self.relevant))
        if isinstance(self.irrelevant, Iterator):
            object.__setattr__(self, "irrelevant", list(self.irrelevant))


MAX_GAIN = 1e6


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A checked JudgedQuery."""

    query: Any
    relevant: Mapping[UUID, float]
    group: str | None
    as_of: datetime | None
    keywords: str | None
    entities: Sequence[str] | None
    agent_id: str | None
    period: Period | None
    names: int | None = None
    """How many names stand for entities, if these were found in the text."""
    vector: StoredVector | None = None
    """The vector of `query`, after embedding and checking its dimensions."""


def checked_query(query: object) -> CheckedQuery:
    """Checks one query; raises InputError."""
    if not isinstance(query, JudgedQuery):
        raise InputError(f"a judged query must be a JudgedQuery, got {type(query).__name__}")
    text = query.keywords
    if isinstance(query.query, str):
        require_query(query.query)
        text = query.query if text is None else text
    names = ("as_of", "entities")
    arguments = {name: getattr(query, name) for name in names} | {"keywords": text}
    values = checked(SearchArguments, arguments)
    irrelevant = in_list(query.irrelevant)
    if irrelevant is None:
        raise InputError(f"irrelevant must be ids of memories, got {shortened(query.irrelevant)}")
    for one in irrelevant:
        require_id(one)
    if query.group is not None:
        require_name("group", query.group)
    owner = query.agent_id
    entities = values.get("entities")
    if entities is None and not isinstance(query.query, str) and text is None:
        entities = []  # only a text can contain known entities
    return CheckedQuery(
        query=query.query,
        relevant=_relevant(query.relevant),
        group=query.group,
        as_of=query.as_of,
        keywords=text,
        entities=entities,
        period=require_ends("period", query.period),
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


def prepared(
    tables: Tables,
    queries: object,
    agent_id: str | UUID | None,
    agents: Sequence[str | UUID] | None,
    teams: Sequence[str | UUID],
    period: tuple[datetime, datetime] | str | None,
    timezone: str | tzinfo | None,
    as_of: datetime | None,
) -> list[CheckedQuery]:
    """The queries with the ids of their owners, and periods; raises InputError."""
    zone = tables.in_zone(timezone).zone
    dated = with_periods(checked_queries(queries), period, as_of, zone)
    checked = with_owner_ids(tables, dated, agent_id, agents)
    searched_owners(tables, checked[0], teams)
    return checked


def checked_queries(queries: object) -> list[CheckedQuery]:
    """Checks all queries. Raises InputError, with the number of the query, or if there is none."""
    several = None if isinstance(queries, Mapping) else in_list(queries)
    if several is None:
        raise InputError(f"queries must be a list of JudgedQuery, got {type(queries).__name__}")
    checked = []
    for number, query in enumerate(several):
        try:
            checked.append(checked_query(query))
        except InputError as error:
            raise type(error)(f"query {number}: {error}") from None
    if not checked:
        raise InputError("there are no judged queries: pass at least one")
    return checked


def with_owner_ids(
    tables: Tables,
    checked: Sequence[CheckedQuery],
    agent_id: str | UUID | None,
    agents: Sequence[str | UUID] | None,
) -> list[CheckedQuery]:
    """The queries, each with the stored id of its owner; raises InputError."""
    listed = dict.fromkeys(require_owners(tables, agents, "agents"))
    own = None if agent_id is None else require_owner(tables, agent_id)
    if own is None and len(listed) == 1:
        [own] = listed
    allowed = listed if own is None else {own: None, **listed}
    queries_with_owners = []
    for number, query in enumerate(checked):
        owner = own
        if query.agent_id is not None:
            owner = require_owner(tables, query.agent_id, f"query {number}: agent_id")
        if owner is None:
            raise InputError(
                f"query {number} has no agent_id: set it, or pass one agent_id for all queries"
            )
        if allowed and owner not in allowed:
            raise InputError(
                f"query {number} is about the memories of {shortened(query.agent_id)}, which is "
                "neither agent_id nor among agents"
            )
        queries_with_owners.append(replace(query, agent_id=owner))
    return queries_with_owners


def answered(checked: Sequence[CheckedQuery]) -> list[CheckedQuery]:
    """The queries that have an answer; raises InputError if there are none."""
    with_answers = [query for query in checked if query.relevant]
    if not with_answers:
        raise InputError("no judged query has a relevant memory: name the ids of relevant memories")
    return with_answers


def by_owner(checked: Sequence[CheckedQuery]) -> dict[str | None, list[int]]:
    """The numbers of the queries of each owner."""
    groups: dict[str | None, list[int]] = {}
    for number, query in enumerate(checked):
        groups.setdefault(query.agent_id, []).append(number)
    return groups


def searched_owners(tables: Tables, query: CheckedQuery, teams: Sequence[str | UUID]) -> list[str]:
    """The owners whose memories are ranked for a query: its own and the teams."""
    assert query.agent_id is not None
    return [query.agent_id, *other_owners(tables, query.agent_id, teams)]


def with_periods(
    checked: Sequence[CheckedQuery],
    period: tuple[datetime, datetime] | str | None,
    as_of: datetime | None,
    zone: tzinfo | None,
) -> list[CheckedQuery]:
    """The queries with this period, or those found in their texts, unless they have one."""
    given = require_period("period", period)

    def found(query: CheckedQuery) -> Period | None:
        text = query.query if isinstance(query.query, str) else query.keywords
        return query.period or found_period(text, given, as_of=query.as_of or as_of, zone=zone)

    return [replace(query, period=found(query)) for query in checked]


def with_vectors(checked: Sequence[CheckedQuery]) -> Operation[list[CheckedQuery]]:
    """The queries with their vectors. Raises InputError with the number of the query."""
    vectors = yield from embedded([query.query for query in checked])
    return [replace(one, vector=vector) for one, vector in zip(checked, vectors, strict=True)]
