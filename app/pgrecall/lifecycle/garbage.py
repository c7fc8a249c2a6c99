"""The policy of the garbage collection, and how a run of it went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgrecall.core.validation import require_count, require_hours, require_name, require_share

MAX_LIVE = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbagePolicy:
    """When a live memory, one not archived yet, is archived or deleted; thresholds as in Grace.

    With the defaults, what is older than 30 days is archived. A memory is judged by its stored,
    undecayed trust; one whose trust was never assessed is not judged by it. Deletion wins over
    archiving; what is archived already is left alone, and deleted by `delete` or `clear` only.
    None switches a rule off. Raises InputError.
    """

    name: str = "default"
    min_trust_threshold: float | None = 0.2
    """Archive below this trust."""
    max_age_hours: float | None = 720.0
    """Archive what was created longer ago."""
    delete_threshold: float | None = 0.1
    """Delete below this trust."""
    max_live: int | None = None
    """How many live memories an owner keeps; the least trusted are archived, never assessed ones
    counting as 0.5, the older first."""

    def __post_init__(self) -> None:
        require_name("name", self.name)
        require_share("min_trust_threshold", self.min_trust_threshold)
        require_share("delete_threshold", self.delete_threshold)
        if self.max_age_hours is not None:
            require_hours("max_age_hours", self.max_age_hours)
        if self.max_live is not None:
            require_count("max_live", self.max_live, at_least=0, at_most=MAX_LIVE)

    @property
    def parameters(self) -> dict[str, Any]:
        """As a statement binds them."""
        return {
            "min_trust_threshold": self.min_trust_threshold,
            "max_age_hours": self.max_age_hours,
            "delete_threshold": self.delete_threshold,
            "max_live": self.max_live,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageRun:
    """What a run did, or with dry_run would have done."""

    id: UUID | None
    """Of its row in gc_runs; None for a dry run, which leaves none."""
    dry_run: bool
    owners: int
    """Agents (or teams) looked at."""
    scanned: int
    archived: int
    deleted: int
    swept: int
    """Counters, labels and links of memories that are gone, removed."""
    seconds: float

    def record(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {
            "id": None if self.id is None else str(self.id),
            "dry_run": self.dry_run,
            "owners": self.owners,
            "scanned": self.scanned,
            "archived": self.archived,
            "deleted": self.deleted,
            "swept": self.swept,
            "seconds": round(self.seconds, 3),
        }
