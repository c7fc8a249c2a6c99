"""Problems that an operator has to know of before users notice them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from pgrecall.core.steps import VERB, Operation, needs
from pgrecall.core.validation import require_count
from pgrecall.schema import Tables
from pgrecall.schema.verbs import call

MOST_MEMORIES = 1_000_000
"""Of an owner; searches of more were not measured."""
KINDS: Final = (
    *("row security", "collation", "statistics", "dead rows"),
    *("rank index", "unused index", "large owner", "maintenance"),
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
class LastMaintenance:
    """The last maintenance of all agents and teams."""

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
    last_maintenance: LastMaintenance | None
    tables: Sequence[TableState]
    """Empty where Citus distributes them."""

    def record(self) -> dict[str, Any]:
        """The state as plain JSON values."""
        return asdict(self)


@needs(VERB)
def health(tables: Tables, /, *, max_memories: int = MOST_MEMORIES) -> Operation[Health]:
    """Returns what needs doing, the last maintenance, and the state of the tables, of all owners.

    Owners of more than `max_memories` are a problem. A role that row-level security restricts is
    told only that. Raises InputError.
    """
    require_count("max_memories", max_memories, at_least=1, at_most=2**63 - 1)
    problems = yield call(tables, "health", max_memories=max_memories)
    last = yield call(tables, "last_maintenance")
    of_tables = yield call(tables, "table_states")
    return Health(
        problems=[Problem(*row) for row in problems],
        last_maintenance=LastMaintenance(*last[0]) if last else None,
        tables=[TableState(*row) for row in of_tables],
    )
