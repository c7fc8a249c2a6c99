"""Ranks the memories of AI agents inside PostgreSQL."""

from pgrecall import embedded, migrate, profiles
from pgrecall.added import Added
from pgrecall.cluster import Cluster, Consolidation
from pgrecall.context import Context, LeftOut, Packed
from pgrecall.evaluation import Evaluation
from pgrecall.event import Event
from pgrecall.garbage import GarbagePolicy, GarbageRun
from pgrecall.hits import Hits
from pgrecall.label import Label
from pgrecall.labelled_query import LabelledQuery
from pgrecall.link import Link
from pgrecall.memory import Memory, NewMemory
from pgrecall.near_duplicate import NearDuplicate
from pgrecall.profile import Profile
from pgrecall.rank_index import RankIndex, RankIndexCheck, RankIndexStatus
from pgrecall.repository import AsyncMemoryRepository, MemoryRepository
from pgrecall.scored_memory import ScoredMemory
from pgrecall.scorer import score
from pgrecall.term import Term
from pgrecall.tuning import Tuning

__all__ = [
    "Added",
    "AsyncMemoryRepository",
    "Cluster",
    "Consolidation",
    "Context",
    "Evaluation",
    "Event",
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
