"""Problems that an operator has to know of before users notice them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

MOST_MEMORIES = 1_000_000
"""Of an owner; searches of more were not measured."""
KINDS: Final = (
    *("row security", "collation", "statistics", "dead rows"),
    *("rank index", "unused index", "large owner", "upkeep"),
)
"""Of problems, as the function `health` of sql/verbs names them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that needs doing."""

    problem: str
    """Its kind, one of KINDS. `pgrecall status` also has "migration" and "invalid index"."""
    name: str
    """The table, the owner, or the schema."""
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class LastUpkeep:
    """The last upkeep of all owners."""

    started_at: datetime
    seconds: float
    tasks: Mapping[str, int]
    """How many of each kind it did, and how many it left."""
    finished: bool
    """False if it left tasks."""


@dataclass(frozen=True, slots=True)
class TableState:
    """A table of memories."""

    name: str
    live: int
    dead: int
    """Rows that are waiting for a vacuum."""
    changed: int
    """Rows since the table was analysed."""
    bytes: int
    """With indexes and TOAST."""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a schema, from indexes and the server's counters."""

    problems: Sequence[Problem]
    last_upkeep: LastUpkeep | None
    tables: Sequence[TableState]
    """Empty where Citus distributes them."""

    def record(self) -> dict[str, Any]:
        """The state as plain JSON values."""
        return asdict(self)
