"""Page: a part of a list, and where the next one begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


class Page(list[T]):
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
