"""The order of a list, and the cursors at which its pages end."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any, Final, Self
from uuid import UUID

from pgrecall.core.memory import Memory
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import in_list, require_aware, require_count, require_text
from pgrecall.errors import InputError, UnknownName
from pgrecall.schema.fields import FIELDS

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
