"""The policy of the garbage collection, and the result of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgrecall.core.validation import require_count, require_hours, require_name, require_share
from pgrecall.errors import InputError

MAX_LIVE = 2**53
LEAST_AGE = 24
"""Hours. Builds of rank indexes that are under way still need the latest events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbagePolicy:
    """When live memories, those not archived, are archived or deleted. The thresholds are Grace's.

    With the defaults, memories older than 30 days are archived. Thresholds apply to the stored
    trust, before decay, and not to memories whose trust was never assessed. A memory that meets
    both rules is deleted. Memories that are archived already are left alone; only `delete` and
    `erase` delete them. None turns a rule off. Raises InputError.
    """

    name: str = "default"
    min_trust_threshold: float | None = 0.2
    """Memories of less trust are archived."""
    max_age_hours: float | None = 720.0
    """Memories created longer ago are archived."""
    delete_threshold: float | None = 0.1
    """Memories of less trust are deleted."""
    max_live: int | None = None
    """The most live memories of an owner. The least trusted others are archived, the older first;
    trust that was never assessed counts as 0.5."""
    max_event_age_hours: float | None = None
    """Events of the history that are older are deleted, from 24 hours on. The first event of a
    memory stays as long as the memory, and events since the owner's rank index was built stay."""
    max_run_age_hours: float | None = None
    """Rows of gc_runs that are older are deleted, from 24 hours on."""

    def __post_init__(self) -> None:
        require_name("name", self.name)
        require_share("min_trust_threshold", self.min_trust_threshold)
        require_share("delete_threshold", self.delete_threshold)
        if self.max_age_hours is not None:
            require_hours("max_age_hours", self.max_age_hours)
        if self.max_live is not None:
            require_count("max_live", self.max_live, at_least=0, at_most=MAX_LIVE)
        for name in ("max_event_age_hours", "max_run_age_hours"):
            age = getattr(self, name)
            if age is not None and require_hours(name, age) < LEAST_AGE:
                raise InputError(f"{name} must be at least {LEAST_AGE} hours, got {age}")

    @property
    def parameters(self) -> dict[str, Any]:
        """The values to bind, by name."""
        return {
            "min_trust_threshold": self.min_trust_threshold,
            "max_age_hours": self.max_age_hours,
            "delete_threshold": self.delete_threshold,
            "max_live": self.max_live,
            "max_event_age_hours": self.max_event_age_hours,
            "max_run_age_hours": self.max_run_age_hours,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepPolicy(GarbagePolicy):
    """A policy whose rules are off, so that only memories that have expired are archived."""

    name: str = "upkeep"
    min_trust_threshold: float | None = None
    """Memories of less trust are archived."""
    max_age_hours: float | None = None
    """Memories created longer ago are archived."""
    delete_threshold: float | None = None
    """Memories of less trust are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageRun:
    """The effects of a run, or with dry_run those that it would have."""

    id: UUID | None
    """The id of its row in gc_runs; None for a dry run, which has no row."""
    dry_run: bool
    owners: int
    """Number of agents or teams."""
    scanned: int
    archived: int
    deleted: int
    swept: int
    """Number of counters and links removed because their memories no longer exist."""
    events: int
    """Number of events that were too old."""
    runs: int
    """Number of rows of gc_runs that were too old."""
    seconds: float

    def record(self) -> dict[str, Any]:
        """The run as plain JSON values."""
        return {
            "id": None if self.id is None else str(self.id),
            "dry_run": self.dry_run,
            "owners": self.owners,
            "scanned": self.scanned,
            "archived": self.archived,
            "deleted": self.deleted,
            "swept": self.swept,
            "events": self.events,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
        }
