"""Batch: the result of adding many memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pgrecall.errors import InputError
from pgrecall.memories.added import Added


class Batch(list[Added]):
    """The ids of the memories of a batch, in its order, without the refused ones."""

    __slots__ = ("refused",)

    refused: Mapping[int, InputError]
    """The error of each memory that was refused, by its position, counted from 0. Empty unless
    `on_error="report"`."""

    def __init__(
        self, added: Iterable[Added] = (), *, refused: Mapping[int, InputError] | None = None
    ) -> None:
        super().__init__(added)
        self.refused = {} if refused is None else refused
