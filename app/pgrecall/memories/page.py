"""Page: a part of a list, and where the next one begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pgrecall.core.display import Displayed, Part, brief_list, grid_of

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
