"""The policy by which maintenance archives, deletes and completes memories."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from pgrecall.core.validation import (
    require_count,
    require_duration,
    require_hours,
    require_name,
    require_share,
)
from pgrecall.errors import InputError

MAX_LIVE = 2**53
LEAST_AGE = 24
"""Hours. Builds of rank indexes that are under way still need the latest events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """When live memories, those not archived, are archived or deleted. Every rule is off by default
    (None), so only memories that have expired are archived.

    Thresholds apply to the stored trust, before decay, and not to memories whose trust was never
    assessed. A memory that meets several rules is deleted if one of them says so. Archived memories
    are left alone; only `delete` and `erase` delete them. Raises InputError.
    """

    name: str = "default"
    min_trust_threshold: float | None = None
    """Archive memories of less trust."""
    max_age_hours: float | None = None
    """Archive memories created longer ago."""
    delete_threshold: float | None = None
    """Delete memories of less trust."""
    max_live: int | None = None
    """Archive an agent's least trusted live memories beyond this number, of equals the oldest.
    Trust that was never assessed counts as 0.5."""
    stale_tasks_after: timedelta | None = None
    """Complete active tasks (memory_type task) created and last accessed longer ago. A search
    returns them only if `statuses` includes completed."""
    max_event_age_hours: float | None = None
    """Delete older events of the history, from 24 hours on. The first event of a memory stays as
    long as the memory, and events since the agent's rank index was built stay."""
    max_run_age_hours: float | None = None
    """Delete older rows of maintenance_runs, from 24 hours on."""

    def __post_init__(self) -> None:
        require_name("name", self.name)
        require_share("min_trust_threshold", self.min_trust_threshold)
        require_share("delete_threshold", self.delete_threshold)
        if self.max_age_hours is not None:
            require_hours("max_age_hours", self.max_age_hours)
        if self.max_live is not None:
            require_count("max_live", self.max_live, at_least=0, at_most=MAX_LIVE)
        if self.stale_tasks_after is not None:
            require_duration("stale_tasks_after", self.stale_tasks_after)
        for name in ("max_event_age_hours", "max_run_age_hours"):
            age = getattr(self, name)
            if age is not None and require_hours(name, age) < LEAST_AGE:
                raise InputError(f"{name} must be at least {LEAST_AGE} hours, got {age}")

    @classmethod
    def grace(cls) -> RetentionPolicy:
        """Archives memories of less trust than 0.2 or older than 30 days, and deletes those of less
        trust than 0.1, as Grace does."""
        return cls(name="grace", min_trust_threshold=0.2, max_age_hours=720.0, delete_threshold=0.1)

    @property
    def removes_memories(self) -> bool:
        """True if it archives or deletes memories that have not expired."""
        rules = (self.min_trust_threshold, self.max_age_hours, self.delete_threshold, self.max_live)
        return any(rule is not None for rule in rules)

    def record(self) -> dict[str, Any]:
        """The name and the rules that are on, as plain JSON values."""
        rules = {name: value for name, value in asdict(self).items() if value is not None}
        if self.stale_tasks_after is not None:
            rules["stale_tasks_after"] = f"{self.stale_tasks_after.total_seconds()} seconds"
        return rules
