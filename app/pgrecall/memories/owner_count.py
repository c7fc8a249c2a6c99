"""OwnerCount: an agent or a team, and how many memories it has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnerCount:
    """An agent or a team; the other id is None."""

    agent_id: str | None
    team_id: str | None
    memories: int
    """The number of its memories, whatever their status and validity."""
