"""Tasks of an upkeep, and the result of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID


class UpkeepKind(StrEnum):
    """Kinds of tasks."""

    GARBAGE = "garbage"
    """Memories that expired, or that a policy archives or deletes, and old events."""
    DROP_INDEX = "drop index"
    """A rank index whose owner has shrunk."""
    BUILD_INDEX = "build index"
    """A rank index that is missing, or that is due."""
    PLACE = "place"
    """Memories written or changed since, which the rank index of their owner gets."""
    STATISTICS = "statistics"
    """Of a table that was never analysed, or has changed much since."""


@dataclass(frozen=True, slots=True)
class UpkeepTask:
    """A task of an upkeep."""

    task: UpkeepKind
    name: str
    """The owner, or the table of statistics."""
    why: str
    seconds: float
    """About how long it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepRun:
    """An upkeep, or with dry_run one that could be."""

    id: UUID | None
    """The id of its row in gc_runs; None for a dry run, which has no row."""
    dry_run: bool
    done: Sequence[UpkeepTask]
    left: Sequence[UpkeepTask]
    """For which there was no time; the next run does them."""
    seconds: float

    @property
    def tasks(self) -> dict[str, int]:
        """How many tasks of each kind were done, and how many are `left`."""
        counted = Counter[str](one.task for one in self.done)
        return dict(counted) | ({"left": len(self.left)} if self.left else {})

    def record(self) -> dict[str, Any]:
        """The run as plain JSON values."""
        return {
            "id": None if self.id is None else str(self.id),
            "dry_run": self.dry_run,
            "done": [asdict(one) for one in self.done],
            "left": [asdict(one) for one in self.left],
            "seconds": round(self.seconds, 3),
        }
