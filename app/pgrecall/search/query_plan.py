"""The query plan of a search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.core.display import Displayed, Part, Verbatim, lines, quoted


@dataclass(frozen=True, slots=True)
class QueryPlan(Displayed):
    """The statement of a search and its plan."""

    statement: str
    """SQL with named parameters."""
    plan: str
    """The output of EXPLAIN, with long vectors shortened."""
    strategy: Literal["exact", "index"]
    """index: the search tries a rank index first."""

    def __repr__(self) -> str:
        return f"QueryPlan({self.strategy!r}, {quoted(self.statement)}, {quoted(self.plan, 200)})"

    def __str__(self) -> str:
        return lines(f"{self.statement}\n\n{self.plan}")

    def _parts(self) -> Iterable[Part]:
        return [Verbatim(self.statement), Verbatim(self.plan)]

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {"strategy": self.strategy, "statement": self.statement, "plan": self.plan}
