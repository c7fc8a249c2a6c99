"""The order of a list as SQL, and the condition that a memory stands behind a page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pgrecall.core.steps import Run
from pgrecall.memories.ordering import SORTABLE, Ordering
from pgrecall.ranking.composing import keys, reads
from pgrecall.ranking.filters import Filters
from pgrecall.schema import Tables
from pgrecall.schema.composer import column
from pgrecall.schema.fields import FIELD

ID = ("id", "-id")


def page(
    tables: Tables,
    owner_id: str,
    filters: Filters,
    ordering: Ordering,
    *,
    last: Sequence[Any] | None,
    limit: int,
    as_of: datetime | None,
    embedding: bool,
) -> Run:
    """Reads at most `limit` memories of the owner in this order, in full.

    `last` are the values of the last memory of the page before; None: this is the first page.
    """
    options = ["vectors"] if embedding else []
    places: dict[str, str] = {}
    values: dict[str, Any] = {}
    if any(FIELD[name].part == "usage" for name in ordering.columns):
        options.append("usage")
    if last is not None:
        options.append("following")
        places["following"] = _following(ordering, last)
        values = {f"last_{n}": value for n, value in enumerate(last) if value is not None}
    return reads(
        tables,
        "list",
        filters,
        *options,
        places={
            "keys": keys(ordering.columns),
            "order": _order(ordering),
            **places,
        },
        as_of=as_of,
        owner_id=owner_id,
        limit=limit,
        **values,
    )


def _order(ordering: Ordering) -> str:
    """The id is never NULL: where it comes first, the key has the memories in this order."""
    return ", ".join(
        f"one.{name.removeprefix('-')}"
        + (" DESC" if name.startswith("-") else "")
        + ("" if name in ID else " NULLS LAST")
        for name in ordering.names
    )


def _following(ordering: Ordering, last: Sequence[Any]) -> str:
    """Condition: a memory comes after the last one of the page before."""
    condition = "false"
    for number, name in reversed([*enumerate(ordering.names)]):
        field = name.removeprefix("-")
        expression, value = column(field), f":last_{number}::{SORTABLE[field]}"
        if last[number] is None:  # only memories without a value are left
            condition = f"({expression} IS NULL AND {condition})"
            continue
        later = f"{expression} {'<' if name.startswith('-') else '>'} {value}"
        missing = "" if name in ID else f" OR {expression} IS NULL"
        condition = f"({later}{missing} OR {expression} = {value} AND {condition})"
    return condition
