"""Event: one change of a memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgrecall.core.display import line


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A row of `memory_events`. Values are JSON values, so times are ISO 8601 text."""

    id: UUID
    memory_id: UUID
    event_type: str
    """initial, reinforcement, penalty, manual, feedback, importance, updated, replaced, restated,
    superseded, forgotten, revived, approved, consolidated, completed, archived, deleted,
    judgement, linked, unlinked, or, of touches with a key,
    retrieved."""
    reason: str | None
    actor: str | None
    old_values: dict[str, Any]
    """The changed fields before the event."""
    new_values: dict[str, Any]
    """The same fields afterwards, and counters that changed with them."""
    metadata: dict[str, Any]
    occurred_at: datetime

    @property
    def run(self) -> str | None:
        """The run that the memory came from, if it was named when the memory was stored."""
        return self.metadata.get("run")

    def delta(self, field: str = "trust") -> float | None:
        """The change of a number: `trust` or one of its parts, `usefulness`, `importance`.

        None if the event did not change it, or if it was unknown before or after.
        """
        old, new = self.old_values.get(field), self.new_values.get(field)
        if not isinstance(old, int | float) or not isinstance(new, int | float):
            return None
        return float(new) - float(old)

    def __repr__(self) -> str:
        return f"Event({line(self.event_type, 40)!r}, memory_id={self.memory_id}, {self._moment})"

    def __str__(self) -> str:
        who = "" if self.actor is None else f" by {line(self.actor, 40)}"
        why = "" if self.reason is None else f": {line(self.reason)}"
        return f"{self._moment} {line(self.event_type, 40)}{who}{why}"

    @property
    def _moment(self) -> str:
        return f"{self.occurred_at:%Y-%m-%d %H:%M:%S}"

    def record(self) -> dict[str, Any]:
        """The event as plain JSON values."""
        return {
            "id": str(self.id),
            "memory_id": str(self.memory_id),
            "event_type": self.event_type,
            "reason": self.reason,
            "actor": self.actor,
            "old_values": self.old_values,
            "new_values": self.new_values,
            "trust_delta": self.delta(),
            "metadata": self.metadata,
            "occurred_at": self.occurred_at.isoformat(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An event, with whose memory it is about."""

    agent_id: str | None
    """None for a memory of a team."""
    team_id: str | None
    """None for a memory of an agent."""
    content: str | None
    """The first 200 characters of the text as it is now; None if the memory is deleted."""
    event: Event

    def record(self) -> dict[str, Any]:
        """The change as plain JSON values."""
        whose = {"agent_id": self.agent_id, "team_id": self.team_id, "content": self.content}
        return whose | self.event.record()
