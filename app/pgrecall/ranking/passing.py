"""Reads without a query: the memories of an agent that pass a filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    DateTime,
    FromClause,
    Select,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    null,
    or_,
    select,
)

from pgrecall.core.statement import Functions, Statement
from pgrecall.core.steps import Run
from pgrecall.ranking.conditions import condition, conditions_of
from pgrecall.ranking.filter_keys import DECAYED_TRUST
from pgrecall.ranking.filters import Filters, Node
from pgrecall.schema import Tables
from pgrecall.schema.fields import COUNTERS, ROW, USAGE

OWNER: Final = bindparam("owner_id", type_=Text())
_NOW: Final = func.now(type_=DateTime(timezone=True))
_AS_OF: Final = bindparam("as_of", type_=DateTime(timezone=True))
_COUNTED: Final = frozenset({DECAYED_TRUST, *(field.name for field in USAGE)})
"""Keys of a filter that read memory_usage."""


class Memories(NamedTuple):
    """The memories of the agent `owner_id`, with their usage."""

    m: FromClause
    u: FromClause
    columns: Mapping[str, Any]
    """What filters and orders read."""
    schema: str
    moment: ColumnElement[datetime]

    @property
    def with_usage(self) -> FromClause:
        """Each memory, with its usage if it has any."""
        same = and_(self.u.c.agent_id == OWNER, self.u.c.memory_id == self.m.c.id)
        return self.m.outerjoin(self.u, same)

    @property
    def in_full(self) -> list[ColumnElement[Any]]:
        """The columns of a Memory, in its order, without the embedding."""
        return [null().label(name) if name == "embedding" else self.columns[name] for name in ROW]


@lru_cache
def memories_of(tables: Tables, *, as_of: bool = False) -> Memories:
    """The memories at `as_of`, or now."""
    rows = tables.memories.alias("m"), tables.memory_usage.alias("u")
    return over(*rows, tables.schema, _AS_OF if as_of else _NOW)


def over(m: FromClause, u: FromClause, schema: str, moment: Any) -> Memories:
    """The memories with these rows of usage."""
    accessed: Any = u.c.last_accessed_at
    columns: dict[str, Any] = {
        **{column.name: column for column in m.c},
        **{name: func.coalesce(u.c[name], literal_column("0")).label(name) for name in COUNTERS},
        "last_accessed_at": case((accessed <= moment, accessed)) if moment is _AS_OF else accessed,
    }
    curve, half_life = m.c.trust_curve, m.c.trust_half_life_hours
    columns[DECAYED_TRUST] = Functions(schema).decayed_trust(
        m.c.trust, columns["last_accessed_at"], moment, curve, half_life, null()
    )
    return Memories(m, u, columns, schema, moment)


Shape = tuple[Node | str, ...]
"""The conditions of a filter: nodes of the mapping, and the caller's own as text."""
Build = Callable[..., Select[Any]]


def reads(
    tables: Tables,
    build: Build,
    filters: Filters,
    *shape: Any,
    owner_id: str,
    as_of: datetime | None = None,
    **values: Any,
) -> Run:
    """Executes what `build` makes of Memories, the conditions that they must meet, whether these
    read usage, and the `shape`."""
    nodes, bound = conditions_of(tables, filters)
    bound |= {"agents": [owner_id], "owner_id": owner_id, "as_of": as_of}
    inactive, dated = filters.include_inactive, as_of is not None
    statement = _statement(build, tables, nodes, inactive, dated, *shape)
    return Run(statement, bound | values)


@lru_cache(maxsize=512)
def _statement(
    build: Build, tables: Tables, nodes: Shape, inactive: bool, dated: bool, *shape: Any
) -> Statement:
    memories = memories_of(tables, as_of=dated)
    reads_usage = any(not isinstance(node, str) and node.reads & _COUNTED for node in nodes)
    met = [memories.m.c.agent_id == OWNER]
    if not inactive:
        met.append(_believed(_live(memories)))
    if dated:
        created = memories.m.c.created_at
        met.append(or_(created.is_(None), created <= _AS_OF))
    for node in nodes:
        met.append(
            literal_column(node, Boolean)
            if isinstance(node, str)
            else condition(node, memories.columns, tables.schema)
        )
    name = build.__name__.strip("_")
    return Statement.of(name, build(memories, and_(*met), reads_usage, *shape))


def _live(memories: Memories) -> ColumnElement[bool]:
    """Active, and valid at the moment."""
    columns = memories.m.c
    valid: Any = Functions(memories.schema).is_valid(
        columns.valid_from,
        columns.valid_until,
        columns.invalidated_at,
        columns.expires_at,
        memories.moment,
        type_=Boolean,
    )
    return and_(columns.status == literal_column("'active'"), valid)


def _believed(met: ColumnElement[bool]) -> ColumnElement[bool]:
    """A condition that nearly every memory meets. Without statistics PostgreSQL would expect that
    one does, and plan loops over all of an agent's; it expects nearly all of an IS NOT NULL."""
    return case((met, literal_column("1"))).is_not(None)


def count(memories: Memories, met: ColumnElement[bool], reads_usage: bool) -> Select[Any]:
    """How many there are."""
    rows = memories.with_usage if reads_usage else memories.m
    return select(func.count()).select_from(rows).where(met)


def locked(memories: Memories, met: ColumnElement[bool], reads_usage: bool) -> Select[Any]:
    """Their ids. Locked, they still pass, and nobody changes them."""
    rows = memories.with_usage if reads_usage else memories.m
    m = memories.m
    return select(m.c.id).select_from(rows).where(met).order_by(m.c.id).with_for_update(of=m)


def export(memories: Memories, met: ColumnElement[bool], reads_usage: bool) -> Select[Any]:
    """The lines of those with these `ids`."""
    rows = memories.with_usage if reads_usage else memories.m
    m = memories.m
    named = m.c.id == func.any(bindparam("ids", type_=ARRAY(m.c.id.type)))
    line = Functions(memories.schema).exported(OWNER, m.c.id, bindparam("events", type_=Boolean()))
    return select(line.label("line")).select_from(rows).where(met, named).order_by(m.c.id)


def metadata_values(memories: Memories, met: ColumnElement[bool], reads_usage: bool) -> Select[Any]:
    """Each value of a `key` of the metadata once."""
    rows = memories.with_usage if reads_usage else memories.m
    value: Any = memories.m.c.metadata.op("->")(bindparam("key", type_=Text()))
    chosen = select(value.label("value")).select_from(rows)
    return chosen.where(met, value.is_not(None)).distinct()
