"""Ranks the memories of AI agents inside PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgrecall import embedded, profiles
from pgrecall.added import Added
from pgrecall.cluster import Cluster, Consolidation
from pgrecall.context import Context, LeftOut, Packed
from pgrecall.evaluation import Evaluation
from pgrecall.event import Event
from pgrecall.floors import Floor, FloorEvaluation
from pgrecall.hits import Hits
from pgrecall.label import Label
from pgrecall.labelled_query import LabelledQuery
from pgrecall.link import Link
from pgrecall.memory import Memory, NewMemory
from pgrecall.near_duplicate import NearDuplicate
from pgrecall.profile import Profile
from pgrecall.rank_index import RankIndex, RankIndexCheck, RankIndexStatus
from pgrecall.scored_memory import ScoredMemory
from pgrecall.scorer import score
from pgrecall.term import Term
from pgrecall.tuning import Tuning

if TYPE_CHECKING:
    from pgrecall import migrate
    from pgrecall.garbage import GarbagePolicy, GarbageRun
    from pgrecall.repository import AsyncMemoryRepository, MemoryRepository

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
    "AsyncMemoryRepository": "pgrecall.repository",
    "GarbagePolicy": "pgrecall.garbage",
    "GarbageRun": "pgrecall.garbage",
    "MemoryRepository": "pgrecall.repository",
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
