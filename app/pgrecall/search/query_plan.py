"""The query plan of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The statement of a search and its plan."""

    statement: str
    """SQL with named parameters."""
    plan: str
    """The output of EXPLAIN, with long vectors shortened."""
    strategy: Literal["exact", "index"]
    """index: the search tries a rank index first."""

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {"strategy": self.strategy, "statement": self.statement, "plan": self.plan}
