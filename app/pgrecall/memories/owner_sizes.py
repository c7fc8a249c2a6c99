"""Sizes: how much an owner has, how it grew, and what its rank index needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pgrecall.rank_index.index import RankIndexStatus


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """About how much a part of a database takes."""

    part: str
    """memories, their indexes, counters, history, rank index; total; WAL of storing, WAL of the
    build; memory of the build."""
    bytes: int
    seconds: float | None
    """Of storing and of the build, on two cores."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of one owner's memories, whatever their status and validity."""

    memories: int
    bytes: int
    """Of texts, embeddings and metadata as they are stored; indexes and the like not counted."""
    by_status: Mapping[str, int]
    by_type: Mapping[str, int]
    """Of the 100 most frequent types."""
    by_month: Mapping[str, int]
    """By the month of created_at in UTC, such as 2026-11, oldest first; unknown without one."""
    rank_index: RankIndexStatus | None
    """The state of its rank index, and why maintenance or a build is due; None: it needs none."""

    def record(self) -> dict[str, Any]:
        """The sizes as plain JSON values."""
        index = None if self.rank_index is None else self.rank_index.record()
        shown = {name: getattr(self, name) for name in self.__slots__}
        return shown | {"rank_index": index}
