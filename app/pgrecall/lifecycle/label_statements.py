"""The statement that finds memories by their labels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Integer,
    Select,
    Text,
    any_,
    bindparam,
    cast,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.ranking.conditions import active, owned, scope, valid
from pgrecall.ranking.memory_columns import memory_columns, with_usage
from pgrecall.schema import Tables


@lru_cache
def labelled_statement(tables: Tables, *, of_kind: bool) -> Select[Any]:
    """The active, valid memories that have any of `labels`, ordered by the sum of their weights.

    Columns: those of a memory, and weight, the sum. Parameters: owner_id, labels, limit and, with
    `of_kind`, label_kinds.
    """
    memories, labels = tables.memories, tables.memory_labels
    found = select(labels.c.memory_id, func.sum(labels.c.weight).label("weight")).where(
        owned(labels), labels.c.value == any_(_texts("labels"))
    )
    if of_kind:
        found = found.where(labels.c.kind == any_(_texts("label_kinds")))
    carrying = found.group_by(labels.c.memory_id).subquery("carrying")
    return (
        select(*memory_columns(memories, tables.memory_usage), carrying.c.weight)
        .select_from(
            with_usage(memories, tables.memory_usage).join(
                carrying, carrying.c.memory_id == memories.c.id
            )
        )
        .where(
            owned(memories),
            active(memories),
            valid(scope(tables, memories, as_of=False)),
        )
        .order_by(carrying.c.weight.desc(), memories.c.id)
        .limit(bindparam("limit", type_=Integer()))
    )


def _texts(name: str) -> Any:
    return cast(bindparam(name, type_=ARRAY(Text)), ARRAY(Text))
