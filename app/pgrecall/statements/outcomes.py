"""What use tells of a memory: outcomes, manual changes of trust, and feedback."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    Integer,
    Select,
    Text,
    Uuid,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import insert

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.schema.limits import TRUST_PARTS
from pgrecall.statements.changing import Change, Values, changed, named
from pgrecall.statements.conditions import Condition
from pgrecall.statements.shares import flushed

FEEDBACK = {"useful": (1, 0), "not_useful": (0, 1), "outdated": (0, 1), "incorrect": (0, 3)}
"""Votes up and down by kind of feedback."""

_TRUST = ("trust", *(f"trust_{part}" for part in TRUST_PARTS))
"""What an event of trust tells: itself and its four parts."""


@lru_cache
def record_outcome(tables: Tables) -> Select[Any]:
    """Counts one success or failure of the memory `this_id` and moves its trust.

    Parameters beside those of `changed`: this_id, success, touch (count a retrieval too).
    """
    success = bindparam("success", type_=Boolean())
    touched = case((bindparam("touch", type_=Boolean()), 1), else_=0)
    won = case((success, 1), else_=0)

    def counted(locked: CTE) -> CTE:
        return _count(
            tables,
            locked,
            {"retrieval_count": touched, "success_count": won, "failure_count": 1 - won},
            accessed=bindparam("touch", type_=Boolean()),
        )

    def assign(locked: Any, counters: Any) -> Values:
        uses = (counters.success_count, counters.failure_count, counters.retrieval_count)
        trust = _function(tables, "trust_after_outcome", locked.trust, success, *uses)
        return {"trust": flushed(trust), "trust_usage": _function(tables, "trust_usage", *uses)}

    change = Change(
        event_type=case((success, named("reinforcement")), else_=named("penalty")),
        reads=_TRUST,
        told=_TRUST,
        assign=assign,
        beside=counted,
        note=lambda _, counters: {
            name: counters[name] for name in ("success_count", "failure_count", "retrieval_count")
        },
    )
    return changed(tables, change, _one(tables))


@lru_cache
def adjust_trust(tables: Tables) -> Select[Any]:
    """Adds `delta` to the trust of the memory `this_id`; trust never assessed is left."""
    delta: Any = bindparam("delta", type_=Double())
    change = Change(
        event_type=named("manual"),
        reads=_TRUST,
        told=_TRUST,
        assign=lambda locked, _: {
            "trust": flushed(func.least(func.greatest(locked.trust + delta, 0.0), 1.0))
        },
    )
    return changed(tables, change, _one(tables), tables.memories.c.trust.is_not(None))


@lru_cache
def record_feedback(tables: Tables) -> Select[Any]:
    """Counts the votes of one feedback on the memory `this_id` and moves its usefulness.

    Parameters beside those of `changed`: this_id, up, down, outdated.
    """
    up: Any = bindparam("up", type_=Integer())
    down: Any = bindparam("down", type_=Integer())
    outdated = bindparam("outdated", type_=Boolean())

    def assign(locked: Any, counters: Any) -> Values:
        # The votes are counted already: those before were fewer by these.
        usefulness = _function(
            tables,
            "usefulness_after_feedback",
            locked.usefulness,
            counters.feedback_up - up,
            counters.feedback_down - down,
            up,
            down,
        )
        return {"usefulness": usefulness, "needs_review": or_(locked.needs_review, outdated)}

    change = Change(
        event_type=named("feedback"),
        reads=("usefulness", "needs_review"),
        assign=assign,
        beside=lambda locked: _count(tables, locked, {"feedback_up": up, "feedback_down": down}),
        note=lambda _, counters: {
            name: counters[name] for name in ("feedback_up", "feedback_down")
        },
    )
    return changed(tables, change, _one(tables))


def _one(tables: Tables) -> Condition:
    condition: Condition = tables.memories.c.id == bindparam("this_id", type_=Uuid())
    return condition


def _function(tables: Tables, name: str, *arguments: ColumnElement[Any]) -> ColumnElement[Any]:
    return compiler.schema_function(tables.schema, name, *arguments, type_=Double())


def _count(
    tables: Tables, locked: CTE, counts: Values, *, accessed: ColumnElement[bool] | None = None
) -> CTE:
    """Adds to the counters of the locked rows and returns them as they are afterwards."""
    usage = tables.memory_usage
    names = list(counts)
    moment: ColumnElement[Any] = literal_column("NULL", DateTime(timezone=True)).cast(
        DateTime(timezone=True)
    )
    if accessed is not None:
        moment = case((accessed, func.now()), else_=moment)
    statement = insert(usage).from_select(
        ["agent_id", "memory_id", *names, "last_accessed_at"],
        select(
            bindparam("owner_id", type_=Text()),
            locked.c.id,
            *counts.values(),
            moment,
        ).where(true()),  # ON CONFLICT after a bare FROM could be read as a join's condition
    )
    return (
        statement.on_conflict_do_update(
            index_elements=[usage.c.agent_id, usage.c.memory_id],
            set_={
                **{name: usage.c[name] + statement.excluded[name] for name in names},
                "last_accessed_at": func.greatest(
                    usage.c.last_accessed_at, statement.excluded.last_accessed_at
                ),
            },
        )
        .returning(usage)
        .cte("counted")
    )
