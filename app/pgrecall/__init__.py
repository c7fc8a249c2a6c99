"""Ranks the memories of AI agents inside PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgrecall import embedded
from pgrecall.context.assembled import Context, LeftOut, Packed
from pgrecall.core.memory import Memory, NewMemory
from pgrecall.evaluation.floors import Floor, FloorEvaluation
from pgrecall.evaluation.labelled_query import LabelledQuery
from pgrecall.evaluation.results import Evaluation
from pgrecall.evaluation.tuned import Tuning
from pgrecall.lifecycle.cluster import Cluster, Consolidation
from pgrecall.lifecycle.event import Event
from pgrecall.lifecycle.label import Label
from pgrecall.lifecycle.link import Link
from pgrecall.lifecycle.near_duplicate import NearDuplicate
from pgrecall.memories.added import Added
from pgrecall.memories.term import Term
from pgrecall.rank_index.index import RankIndex, RankIndexCheck, RankIndexStatus
from pgrecall.ranking.hits import Hits
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.scoring.scorer import score

if TYPE_CHECKING:
    from pgrecall import migrate
    from pgrecall.execution.asynchronous import AsyncMemoryRepository
    from pgrecall.execution.synchronous import MemoryRepository
    from pgrecall.lifecycle.garbage import GarbagePolicy, GarbageRun

__all__ = [
    "Added",
    "AsyncMemoryRepository",
    "Cluster",
    "Consolidation",
    "Context",
    "Evaluation",
    "Event",
    "Floor",
    "FloorEvaluation",
    "GarbagePolicy",
    "GarbageRun",
    "Hits",
    "Label",
    "LabelledQuery",
    "LeftOut",
    "Link",
    "Memory",
    "MemoryRepository",
    "NearDuplicate",
    "NewMemory",
    "Packed",
    "Profile",
    "RankIndex",
    "RankIndexCheck",
    "RankIndexStatus",
    "ScoredMemory",
    "Term",
    "Tuning",
    "embedded",
    "migrate",
    "profiles",
    "score",
]


_LAZY = {
    "AsyncMemoryRepository": "pgrecall.execution",
    "GarbagePolicy": "pgrecall.lifecycle.garbage",
    "GarbageRun": "pgrecall.lifecycle.garbage",
    "MemoryRepository": "pgrecall.execution",
}


def __getattr__(name: str) -> Any:
    """What takes longer to import than SQLAlchemy, when it is asked for: statements and Alembic."""
    if name == "migrate":
        return import_module("pgrecall.migrate")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
