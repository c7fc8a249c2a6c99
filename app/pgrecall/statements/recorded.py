"""Labels that were recorded: what feedback and outcomes tell of past queries."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, Select, Text, and_, case, func, literal_column, select

from pgrecall.schema import Tables
from pgrecall.statements.changing import named
from pgrecall.statements.conditions import owned
from pgrecall.statements.outcomes import FEEDBACK

QUERY = "query"
"""The key of an event's metadata that names the query."""


@lru_cache
def recorded_queries(tables: Tables) -> Select[Any]:
    """Each query of the owner with the memories that more spoke for than against: query,
    memory_ids, and as_of, when the last was recorded.

    Parameter: owner_id. A vote is an outcome, or what a kind of feedback counts; of memories that
    are gone none is counted.
    """
    events, memories = tables.memory_events, tables.memories
    query = events.c.metadata[QUERY].astext
    kind = events.c.metadata["kind"].astext
    votes = case(
        (events.c.event_type == named("reinforcement"), _number(1)),
        (events.c.event_type == named("penalty"), _number(-1)),
        *((kind == _text(name), _number(up - down)) for name, (up, down) in FEEDBACK.items()),
        else_=_number(0),
    )
    kinds = [named(name) for name in ("feedback", "reinforcement", "penalty")]
    of_text = func.jsonb_typeof(events.c.metadata[QUERY], type_=Text()) == _text("string")
    voted = (
        select(
            query.label(QUERY),
            events.c.memory_id,
            func.max(events.c.occurred_at).label("at"),
        )
        .select_from(
            events.join(memories, and_(owned(memories), memories.c.id == events.c.memory_id))
        )
        .where(
            owned(events),
            events.c.event_type.in_(kinds),
            of_text,
            func.btrim(query, type_=Text()) != _text(""),
        )
        .group_by(query, events.c.memory_id)
        .having(func.sum(votes, type_=Integer()) > _number(0))
        .subquery("voted")
    )
    return (
        select(
            voted.c[QUERY],
            func.array_agg(voted.c.memory_id).label("memory_ids"),
            func.max(voted.c.at).label("as_of"),
        )
        .group_by(voted.c[QUERY])
        .order_by(voted.c[QUERY])
    )


def _number(value: int) -> Any:
    return literal_column(str(value), Integer())


def _text(value: str) -> Any:
    return literal_column(f"'{value}'", Text())
