"""Lists memories and owners, page by page."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any, Final, Self, TypeVar, Unpack
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
)

from pgrecall.core.display import Displayed, Part, brief_list, grid_of
from pgrecall.core.memory import Memory, memory_in_full
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import READS, Operation, needs
from pgrecall.core.validation import (
    in_list,
    require_aware,
    require_bool,
    require_count,
    require_name,
    require_text,
)
from pgrecall.errors import InputError, UnknownName
from pgrecall.ranking import passing
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.passing import OWNER, Memories, over, reads
from pgrecall.ranking.question import checked_filters
from pgrecall.schema import Tables
from pgrecall.schema.fields import FIELD, FIELDS
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call

NEWEST_FIRST = ("-created_at",)


@dataclass(frozen=True, slots=True)
class Ordering:
    """The columns that memories are sorted by, the last being their id. NULLs come last."""

    names: tuple[str, ...]
    """Each with `-` before it if the largest value comes first."""

    @classmethod
    def of(cls, order: str | Sequence[str]) -> Self:
        """Raises UnknownName for what is not a column to sort by, InputError for no list."""
        names = [order] if isinstance(order, str) else in_list(order)
        if names is None:
            raise InputError(f"order must be the names of columns, got {shortened(order)}")
        columns: list[str] = []
        for name in [*names, "id"]:
            if not isinstance(name, str) or name.removeprefix("-") not in SORTABLE:
                raise UnknownName(
                    f"order: unknown column {shortened(name)}; known are {', '.join(SORTABLE)}"
                )
            if any(name.removeprefix("-") == one.removeprefix("-") for one in columns):
                continue  # it decides nothing any more
            columns.append(name)
            if name.removeprefix("-") == "id":
                break  # no two have the same
        return cls(tuple(columns))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name.removeprefix("-") for name in self.names)

    def cursor(self, memory: Memory) -> str:
        """The cursor of a page whose last memory this is."""
        last = [getattr(memory, name) for name in self.columns]
        record = json.dumps({"order": self.names, "last": last}, default=_as_text)
        return urlsafe_b64encode(record.encode()).decode().rstrip("=")

    def last(self, after: object) -> tuple[Any, ...]:
        """The values of the last memory of a page, from its cursor.

        Raises InputError for what is not a cursor, or one of another order.
        """
        text = require_text("after", after)
        try:
            record = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            order, last = record["order"], record["last"]
            if order == list(self.names):
                pairs = zip(self.columns, last, strict=True)
                return tuple(_VALUES[SORTABLE[name]](name, value) for name, value in pairs)
        except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError):
            raise InputError(
                f"after must be the `next` of a page of this list, got {shortened(text)}"
            ) from None
        raise InputError(
            f"after was made for the order {shortened(order)}, not for {shortened([*self.names])}; "
            "give the same `order` for each page"
        )


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _moment(name: str, value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    require_aware(name, moment)
    return moment


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(name)
    return float(value)


def _whole_number(name: str, value: Any) -> int:
    return require_count(name, value, at_least=0, at_most=2**31 - 1)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(name)
    return value


def _id(name: str, value: Any) -> UUID:
    if not isinstance(value, str):
        raise TypeError(name)
    return UUID(value)


def _or_none(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda name, value: None if value is None and name != "id" else read(name, value)


_VALUES: Mapping[str, Callable[[str, Any], Any]] = {
    "text": _or_none(require_text),
    "float8": _or_none(_number),
    "integer": _or_none(_whole_number),
    "boolean": _or_none(_flag),
    "timestamptz": _or_none(_moment),
    "uuid": _or_none(_id),
}
"""Type of a column → function that reads its value from a cursor."""

SORTABLE: Final[Mapping[str, str]] = {
    field.name: field.kind.type
    for field in FIELDS
    if field.shown and field.kind.type in _VALUES and field.name not in ("agent_id", "content")
}
"""The fields that memories can be sorted by, and the type of each.

Lists, metadata, vectors and the text are left out: a cursor contains the values.
"""


MOST = 10_000
"""The greatest `limit`."""


@needs(READS)
def list_memories(
    tables: Tables,
    /,
    agent_id: str | UUID,
    *,
    order: str | Sequence[str] = NEWEST_FIRST,
    limit: int = 50,
    after: str | None = None,
    total: bool = False,
    include_embedding: bool = False,
    as_of: datetime | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Page[Memory]]:
    """Lists memories that pass the filters, in any order, without ranking or touching them.

    As in a search, only active and valid memories pass unless `include_inactive` says otherwise.
    `order` names columns of a memory or of its usage; `-` before one puts the largest value first.
    The default is newest first.

    `limit` is at most 10,000. To get the next page, pass the `next` of the page as `after`, with
    the same order and filters. With `total`, the page has the number of all memories that pass.

    Raises UnknownName for an unknown column or filter, InputError for a bad value or cursor.
    """
    agent_id = require_owner(tables, agent_id)
    ordering = Ordering.of(order)
    require_count("limit", limit, at_least=1, at_most=MOST)
    last = None if after is None else ordering.last(after)
    require_bool("total", total)
    require_bool("include_embedding", include_embedding)
    require_aware("as_of", as_of)
    chosen = yield from checked_filters(tables, filters)
    missing = None if last is None else tuple(value is None for value in last)
    rows = yield reads(
        tables,
        list_,
        chosen,
        ordering.names,
        missing,
        include_embedding,
        owner_id=agent_id,
        as_of=as_of,
        limit=limit + 1,
        **{f"last_{number}": value for number, value in enumerate(last or ())},
    )
    memories = [memory_in_full(row) for row in rows[:limit]]
    counted = None
    if total:
        [[counted]] = yield reads(tables, passing.count, chosen, as_of=as_of, owner_id=agent_id)
    more = ordering.cursor(memories[-1]) if len(rows) > limit else None
    return Page(memories, cursor=more, total=counted)


@needs(READS)
def owners(
    tables: Tables, /, *, prefix: str = "", limit: int = 100, after: str | None = None
) -> Operation[Page[OwnerCount]]:
    """Lists the agents that have memories, with the number of these, in the order of their ids.

    `repository.teams.owners()` lists teams. `prefix` restricts the list to ids that begin with it.
    `limit` is at most 10,000; `after` is the `next` of the page before. A role that row-level
    security restricts sees its own. Raises InputError.
    """
    require_text("prefix", prefix)
    require_count("limit", limit, at_least=1, at_most=MOST)
    begin = None if after is None else tables.prefix + require_name("after", after)
    of_teams = bool(tables.prefix)
    rows = yield call(
        tables, "owners", of_teams=of_teams, prefix=prefix, most=limit + 1, after=begin
    )
    ids = [row.agent_id.removeprefix(tables.prefix) for row in rows[:limit]]
    counts = [
        OwnerCount(
            agent_id=None if tables.prefix else id_,
            team_id=id_ if tables.prefix else None,
            memories=row.memories,
        )
        for id_, row in zip(ids, rows, strict=False)
    ]
    return Page(counts, cursor=ids[-1] if len(rows) > limit else None)


@dataclass(frozen=True, slots=True)
class OwnerCount:
    """An agent or a team; the other id is None."""

    agent_id: str | None
    team_id: str | None
    memories: int
    """The number of its memories, whatever their status and validity."""


@needs(READS)
def metadata_values(
    tables: Tables, /, agent_id: str | UUID, key: str, *, content_types: list[str]
) -> Operation[list[Any]]:
    """The values that a key of the metadata has in memories that are active and valid."""
    owner_id = require_owner(tables, agent_id)
    chosen = Filters.of({"filter": {"content_type": content_types}})
    rows = yield reads(tables, passing.metadata_values, chosen, owner_id=owner_id, key=key)
    return [row.value for row in rows]


T = TypeVar("T")


class Page(list[T], Displayed):
    """A page of a list."""

    __slots__ = ("next", "total")

    next: str | None
    """The argument `after` of the next page; None if this is the last."""
    total: int | None
    """The length of the whole list, if it was requested."""

    def __init__(
        self, items: Iterable[T] = (), *, cursor: str | None = None, total: int | None = None
    ) -> None:
        super().__init__(items)
        self.next = cursor
        self.total = total

    def __repr__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        return brief_list(self, f"Page{of}" if self.next is None else f"Page{of}, more by next")

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "[]"

    def _parts(self) -> Iterable[Part]:
        more = [] if self.next is None else ["more: pass next as after"]
        return [grid_of(self) if self else "nothing", *more]


_ID = ("id", "-id")


def list_(
    memories: Memories,
    met: ColumnElement[bool],
    reads_usage: bool,
    order: tuple[str, ...],
    missing: tuple[bool, ...] | None,
    vectors: bool,
) -> Select[Any]:
    """The first `limit` memories in this order, in full: their keys are sorted alone.

    `missing` says which values are None of `last_0`, `last_1`, …, those of the last memory of the
    page before; None: this is the first page.
    """
    names = tuple(name.removeprefix("-") for name in order)
    sorts_by_usage = any(FIELD[name].part == "usage" for name in names)
    rows = memories.with_usage if reads_usage or sorts_by_usage else memories.m
    keys = [memories.columns[name].label(f"key_{number}") for number, name in enumerate(names)]
    chosen = select(memories.m.c.id, *keys).select_from(rows).where(met)
    if missing is not None:
        chosen = chosen.where(_following(order, [memories.columns[one] for one in names], missing))
    limit = bindparam("limit", type_=Integer())
    page = chosen.order_by(*_sorted(order, keys)).limit(limit).cte("page")
    # In full, though no usage here is without its memory: a plan from before there was any would
    # scan all usage for each memory of the page, not once.
    u = memories.u
    its_ids = func.array(select(page.c.id).scalar_subquery())
    used = select(u).where(u.c.agent_id == OWNER, u.c.memory_id == func.any(its_ids)).subquery("u")
    # OFFSET 0: by its key. Without statistics, a join reads all memories of the agent once more.
    same = and_(memories.m.c.agent_id == OWNER, memories.m.c.id == page.c.id)
    m = select(memories.m).where(same).offset(literal_column("0")).lateral("m")
    joined = page.join(m, true()).outerjoin(used, used.c.memory_id == page.c.id, full=True)
    columns = over(m, used, memories.schema, memories.moment).in_full
    if vectors:
        columns.append(m.c.embedding.label("vector"))
    return (
        select(*columns)
        .select_from(joined)
        .order_by(*_sorted(order, [page.c[key.name] for key in keys]))
    )


def _sorted(order: Sequence[str], keys: Sequence[Any]) -> Iterator[ColumnElement[Any]]:
    """The id is never NULL: where it comes first, the key has the memories in this order."""
    for name, key in zip(order, keys, strict=True):
        sort = key.desc() if name.startswith("-") else key
        yield sort if name in _ID else sort.nulls_last()


def _following(
    order: Sequence[str], columns: Sequence[Any], missing: Sequence[bool]
) -> ColumnElement[bool]:
    """Condition: a memory comes after the last one of the page before."""
    met: ColumnElement[bool] = false()
    for number, (name, column) in reversed([*enumerate(zip(order, columns, strict=True))]):
        if missing[number]:  # only memories without a value are left
            met = and_(column.is_(None), met)
            continue
        value = bindparam(f"last_{number}", type_=column.type)
        later = column < value if name.startswith("-") else column > value
        met = or_(later, and_(column == value, met))
        if name not in _ID:
            met = or_(met, column.is_(None))
    return met
