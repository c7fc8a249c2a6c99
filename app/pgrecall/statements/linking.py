"""Links between memories, and the neighbours that a search may bring along."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    Double,
    Insert,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union,
    union_all,
)
from sqlalchemy import delete as delete_
from sqlalchemy.dialects.postgresql import JSONB, insert

from pgrecall import compiler
from pgrecall.custom_condition import Expression
from pgrecall.schema import Tables
from pgrecall.statements.changing import named, noted_as
from pgrecall.statements.conditions import of_owners, owned, rows_of_arrays
from pgrecall.statements.json_objects import json_object
from pgrecall.statements.ranking import Search, Shape, passing, signal_columns, with_words
from pgrecall.statements.reading import memory_columns, with_usage

STEPS = "steps"


@lru_cache
def link(tables: Tables) -> Select[Any]:
    """Links `this_id` to `that_id`, both locked; a link that is there takes the new weight.

    Parameters beside those of the events: link_kind, link_weight.
    """
    links = tables.memory_links
    this: Any = bindparam("this_id", type_=Uuid())
    statement = insert(links).from_select(
        ["agent_id", "source_id", "target_id", "kind", "weight"],
        select(
            bindparam("owner_id", type_=Text()),
            this,
            bindparam("that_id", type_=Uuid()),
            bindparam("link_kind", type_=Text()),
            bindparam("link_weight", type_=Double()),
        ),
    )
    before = (
        select(links.c.target_id, links.c.kind, links.c.weight).where(*_this_link(tables))
    ).cte("before")
    written = (
        statement.on_conflict_do_update(
            index_elements=[
                *(links.c.agent_id, links.c.source_id),
                *(links.c.target_id, links.c.kind),
            ],
            set_={"weight": statement.excluded.weight},
        )
        .returning(links)
        .cte("written")
    )
    happened = select(
        this.label("id"),
        named("linked").label("event_type"),
        select(_told(before)).scalar_subquery().label("old_values"),
        _told(written).label("new_values"),
    ).select_from(written)
    return (
        select(func.count())
        .select_from(written)
        .add_cte(noted_as(tables, happened.subquery("happened")))
    )


@lru_cache
def link_all(tables: Tables) -> Insert:
    """Links `this_id` to each of `ids` by `link_kind`, with weight 1; one that is there stays."""
    links = tables.memory_links
    targets = rows_of_arrays("targets", id=("ids", Uuid()))
    return (
        insert(links)
        .from_select(
            ["agent_id", "source_id", "target_id", "kind"],
            select(
                bindparam("owner_id", type_=Text()),
                bindparam("this_id", type_=Uuid()),
                targets.c.id,
                bindparam("link_kind", type_=Text()),
            ).order_by(targets.c.id),
        )
        .on_conflict_do_nothing()
    )


@lru_cache
def unlink(tables: Tables) -> Select[Any]:
    """Takes the link from `this_id` to `that_id` of `link_kind` away."""
    links = tables.memory_links
    gone = delete_(links).where(*_this_link(tables)).returning(links).cte("gone")
    happened = select(
        gone.c.source_id.label("id"),
        named("unlinked").label("event_type"),
        _told(gone).label("old_values"),
        literal_column("'{}'::jsonb", JSONB()).label("new_values"),
    )
    return (
        select(func.count())
        .select_from(gone)
        .add_cte(noted_as(tables, happened.subquery("happened")))
    )


@lru_cache
def links_of(tables: Tables) -> Select[Any]:
    """The links from and to the memory `this_id`, strongest first."""
    links = tables.memory_links
    this: Any = bindparam("this_id", type_=Uuid())
    return (
        select(links.c.source_id, links.c.target_id, links.c.kind, links.c.weight)
        .where(
            owned(links),
            or_(links.c.source_id == this, links.c.target_id == this),
        )
        .order_by(links.c.weight.desc(), links.c.kind, links.c.source_id, links.c.target_id)
    )


def neighbours(tables: Tables, wanted: Search, *, steps: int) -> Select[Any]:
    """What the hits are linked to within so many steps and is no hit itself, scored as they are.

    Columns as of a search, and `steps`. Parameters: those of the search, hit_owners and hit_ids.
    """
    if wanted.filters.where:
        return _neighbours(tables, wanted.shape, steps, wanted.filters.where)
    return _known_neighbours(tables, wanted.shape, steps)


@lru_cache(maxsize=256)
def _known_neighbours(tables: Tables, shape: Shape, steps: int) -> Select[Any]:
    return _neighbours(tables, shape, steps, ())


def _neighbours(
    tables: Tables, shape: Shape, steps: int, where: Sequence[Expression]
) -> Select[Any]:
    memories = tables.memories
    hits = rows_of_arrays("hits", owner_id=("hit_owners", Text()), id=("hit_ids", Uuid()))
    reached: list[CTE] = []
    start: Any = select(hits.c.owner_id, hits.c.id).cte("hit")
    for step in range(1, steps + 1):
        reached.append(_one_step(tables, reached[-1] if reached else start, f"step_{step}"))
    every = union_all(
        *(
            select(found.c.owner_id, found.c.id, literal_column(str(step)).label(STEPS))
            for step, found in enumerate(reached, start=1)
        )
    ).subquery("every")
    near = (
        select(every.c.owner_id, every.c.id, func.min(every.c.steps, type_=Integer()).label(STEPS))
        .where(tuple_(every.c.owner_id, every.c.id).not_in(select(start.c.owner_id, start.c.id)))
        .group_by(every.c.owner_id, every.c.id)
        .cte("near")
    )
    rows, within, _ = with_words(
        tables,
        shape.owners,
        shape,
        with_usage(memories, tables.memory_usage, owners=shape.owners),
    )
    score = compiler.score(shape.signals, within)
    scored = (
        select(
            *memory_columns(memories, tables.memory_usage),
            score.label("score"),
            *signal_columns(shape, within),
            near.c.steps,
        )
        .select_from(
            rows.join(
                near, and_(near.c.owner_id == memories.c.agent_id, near.c.id == memories.c.id)
            )
        )
        .where(of_owners(memories, shape.owners), *passing(within, shape, where).values())
        .subquery("scored")
    )
    statement = select(scored)
    if shape.has_min_score:
        floor: Any = bindparam("min_score", type_=Double())
        statement = statement.where(scored.c.score >= floor)
    return statement.order_by(scored.c.score.desc(), scored.c.id).limit(
        bindparam("k", type_=Integer())
    )


def _one_step(tables: Tables, start: CTE, name: str) -> CTE:
    links = tables.memory_links

    def along(near: Any, far: Any) -> Select[Any]:
        return select(start.c.owner_id, far.label("id")).select_from(
            start.join(links, and_(links.c.agent_id == start.c.owner_id, near == start.c.id))
        )

    return union(
        along(links.c.source_id, links.c.target_id), along(links.c.target_id, links.c.source_id)
    ).cte(name)


def _this_link(tables: Tables) -> Sequence[Any]:
    links = tables.memory_links
    return (
        owned(links),
        links.c.source_id == bindparam("this_id", type_=Uuid()),
        links.c.target_id == bindparam("that_id", type_=Uuid()),
        links.c.kind == bindparam("link_kind", type_=Text()),
    )


def _told(links: Any) -> Any:
    return json_object({name: links.c[name] for name in ("target_id", "kind", "weight")})
