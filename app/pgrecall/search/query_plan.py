"""What a search runs, and how PostgreSQL goes about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The statement of a search and its plan."""

    statement: str
    """With the names of its parameters."""
    plan: str
    """As EXPLAIN shows it, long vectors cut short."""
    strategy: Literal["exact", "index"]
    """How it looks: through a rank index, if that turns out to answer as well, or not."""

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {"strategy": self.strategy, "statement": self.statement, "plan": self.plan}
