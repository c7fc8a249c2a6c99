"""Labels of memories, and finding memories by them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Double,
    Insert,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy import delete as delete_
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, insert

from pgrecall.schema import Tables
from pgrecall.statements.changing import named, noted_as
from pgrecall.statements.conditions import active, owned, rows_of_arrays, scope, uuids, valid
from pgrecall.statements.json_objects import json_object
from pgrecall.statements.reading import memory_columns, with_usage


@lru_cache
def lock(tables: Tables) -> Select[Any]:
    """Those of `ids` that are there, kept as they are until the transaction ends."""
    memories = tables.memories
    return (
        select(memories.c.id)
        .where(owned(memories), memories.c.id == any_(uuids()))
        .order_by(memories.c.id)
        .with_for_update(key_share=True)
    )


@lru_cache
def label(tables: Tables) -> Select[Any]:
    """Gives the memory `this_id`, which is locked, labels; one that is there takes the new weight.

    Parameters beside those of the events: kinds, label_values, weights, each pair once.
    """
    labels = tables.memory_labels
    given = rows_of_arrays(
        "given",
        kind=("kinds", Text()),
        value=("label_values", Text()),
        weight=("weights", Double()),
    )
    this: Any = bindparam("this_id", type_=Uuid())
    before = (
        select(_several(labels).label("labels"))
        .where(
            owned(labels),
            labels.c.memory_id == this,
            _in_given(labels),
        )
        .cte("before")
    )
    statement = insert(labels).from_select(
        ["agent_id", "memory_id", "kind", "value", "weight"],
        select(
            bindparam("owner_id", type_=Text()), this, given.c.kind, given.c.value, given.c.weight
        ).order_by(given.c.kind, given.c.value),
    )
    written = (
        statement.on_conflict_do_update(
            index_elements=[
                *(labels.c.agent_id, labels.c.memory_id),
                *(labels.c.kind, labels.c.value),
            ],
            set_={"weight": statement.excluded.weight},
        )
        .returning(labels)
        .cte("written")
    )
    happened = select(
        this.label("id"),
        named("labelled").label("event_type"),
        _object(select(before.c.labels).scalar_subquery()).label("old_values"),
        _object(_several(written)).label("new_values"),
    ).select_from(written)
    return (
        select(func.count())
        .select_from(written)
        .add_cte(noted_as(tables, happened.subquery("happened")))
    )


@lru_cache
def inherit_labels(tables: Tables) -> Insert:
    """Gives `this_id` the labels of all of `ids`, each with its greatest weight."""
    labels = tables.memory_labels
    theirs = (
        select(
            bindparam("owner_id", type_=Text()),
            bindparam("this_id", type_=Uuid()),
            labels.c.kind,
            labels.c.value,
            func.max(labels.c.weight),
        )
        .where(owned(labels), labels.c.memory_id == any_(uuids()))
        .group_by(labels.c.kind, labels.c.value)
        .order_by(labels.c.kind, labels.c.value)
    )
    return (
        insert(labels)
        .from_select(["agent_id", "memory_id", "kind", "value", "weight"], theirs)
        .on_conflict_do_nothing()
    )


@lru_cache
def unlabel(tables: Tables) -> Select[Any]:
    """Takes labels from the memory `this_id`; parameters: kinds, label_values and the events'."""
    labels = tables.memory_labels
    this: Any = bindparam("this_id", type_=Uuid())
    gone = (
        delete_(labels)
        .where(owned(labels), labels.c.memory_id == this, _in_given(labels))
        .returning(labels)
        .cte("gone")
    )
    happened = (
        select(
            this.label("id"),
            named("unlabelled").label("event_type"),
            _object(_several(gone)).label("old_values"),
            literal_column("'{}'::jsonb", JSONB()).label("new_values"),
        )
        .select_from(gone)
        .having(func.count() > 0)
    )
    return (
        select(func.count())
        .select_from(gone)
        .add_cte(noted_as(tables, happened.subquery("happened")))
    )


@lru_cache
def labels_of(tables: Tables) -> Select[Any]:
    """The labels of the memory `this_id`: value, kind, weight; heaviest first."""
    labels = tables.memory_labels
    return (
        select(labels.c.value, labels.c.kind, labels.c.weight)
        .where(owned(labels), labels.c.memory_id == bindparam("this_id", type_=Uuid()))
        .order_by(labels.c.weight.desc(), labels.c.kind, labels.c.value)
    )


@lru_cache
def labelled(tables: Tables, *, of_kind: bool) -> Select[Any]:
    """The active, valid memories that carry any of `labels`, by the weight of what they carry.

    Columns: those of a memory, and weight, the sum of the weights. Parameters: owner_id, labels,
    label_kinds where asked for, limit.
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


def _in_given(labels: Any) -> Any:
    given = rows_of_arrays("named", kind=("kinds", Text()), value=("label_values", Text()))
    return (
        select(literal_column("1"))
        .select_from(given)
        .where(and_(given.c.kind == labels.c.kind, given.c.value == labels.c.value))
        .exists()
    )


def _several(labels: Any) -> Any:
    """Labels as one JSON array."""
    one = json_object({name: labels.c[name] for name in ("kind", "value", "weight")})
    return func.coalesce(func.jsonb_agg(one), literal_column("'[]'::jsonb"), type_=JSONB())


def _object(labels: Any) -> Any:
    return json_object({"labels": labels})


def _texts(name: str) -> Any:
    return cast(bindparam(name, type_=ARRAY(Text)), ARRAY(Text))
