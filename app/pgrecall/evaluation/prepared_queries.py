"""Prepares the judged queries of an evaluation: checks, owners, periods and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from uuid import UUID

from pgrecall.core.dates import Period, period_of, require_dates
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Operation
from pgrecall.core.validation import in_list
from pgrecall.errors import InputError
from pgrecall.evaluation.checked_query import CheckedQuery, checked_query
from pgrecall.ranking.question import embedded, other_owners
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner, require_owners


def prepared(
    tables: Tables,
    queries: object,
    agent_id: str | UUID | None,
    agents: Sequence[str | UUID] | None,
    teams: Sequence[str | UUID],
    dates: str | None,
    timezone: str | tzinfo | None,
    as_of: datetime | None,
) -> list[CheckedQuery]:
    """The queries with the ids of their owners, and periods; raises InputError."""
    zone = tables.in_zone(timezone).zone
    dated = with_periods(checked_queries(queries), dates, as_of, zone)
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
    dates: str | None,
    as_of: datetime | None,
    zone: tzinfo | None,
) -> list[CheckedQuery]:
    """The queries with periods found in their texts, unless they have one."""
    language = require_dates(dates)

    def found(query: CheckedQuery) -> Period | None:
        text = query.query if isinstance(query.query, str) else query.query_text
        if query.query_time is not None or text is None:
            return query.query_time
        return period_of(text, language, as_of=query.as_of or as_of, zone=zone)

    return [replace(query, query_time=found(query)) for query in checked]


def with_vectors(checked: Sequence[CheckedQuery]) -> Operation[list[CheckedQuery]]:
    """The queries with their vectors. Raises InputError with the number of the query."""
    vectors = yield from embedded([query.query for query in checked])
    return [replace(one, vector=vector) for one, vector in zip(checked, vectors, strict=True)]
