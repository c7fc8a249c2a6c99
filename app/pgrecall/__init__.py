"""Ranks the memories of AI agents inside PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgrecall import embedded
from pgrecall.context.assembled import Context, LeftOut, Packed
from pgrecall.core.embedders import AsyncEmbedder, Embedder, LocalEmbedder
from pgrecall.core.memory import Memory, NewMemory
from pgrecall.evaluation.floors import Floor, FloorEvaluation
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.evaluation.results import Difference, Evaluation, ProfileEvaluation, Scores
from pgrecall.evaluation.tuned import Tuning
from pgrecall.lifecycle.cluster import Cluster, Consolidation
from pgrecall.lifecycle.erased import Erased
from pgrecall.lifecycle.event import Event
from pgrecall.lifecycle.label import Label
from pgrecall.lifecycle.link import Link
from pgrecall.lifecycle.near_duplicate import NearDuplicate
from pgrecall.memories.added import Added
from pgrecall.memories.batch import Batch
from pgrecall.memories.owner_count import OwnerCount
from pgrecall.memories.page import Page
from pgrecall.memories.term import Term
from pgrecall.rank_index.index import RankIndex, RankIndexCheck, RankIndexStatus
from pgrecall.ranking.hits import Hits, Strategy
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.scoring.scorer import score
from pgrecall.scoring.signals import (
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Keyword,
    Recency,
    Similarity,
    Time,
    Trust,
    Usefulness,
)
from pgrecall.search.explanation import Explanation, SignalAccount
from pgrecall.search.query_plan import QueryPlan

if TYPE_CHECKING:
    from pgrecall import migrate
    from pgrecall.core.tokens import tiktoken_counter
    from pgrecall.evaluation.queries_file import load_queries, save_queries
    from pgrecall.execution import AsyncMemoryRepository, MemoryRepository
    from pgrecall.lifecycle.garbage import GarbagePolicy, GarbageRun
    from pgrecall.memories.changing import MemoryChanges
    from pgrecall.memories.file_export import export_file
    from pgrecall.memories.importing import import_file
    from pgrecall.ranking.arguments import SearchArguments
    from pgrecall.ranking.filters import FilterArguments

__all__ = [
    "Added",
    "AsyncEmbedder",
    "AsyncMemoryRepository",
    "Batch",
    "Clock",
    "Cluster",
    "Confidence",
    "Consolidation",
    "Context",
    "Curve",
    "Difference",
    "Embedder",
    "EntityOverlap",
    "Erased",
    "Evaluation",
    "Event",
    "Explanation",
    "FilterArguments",
    "Floor",
    "FloorEvaluation",
    "Frequency",
    "GarbagePolicy",
    "GarbageRun",
    "Hits",
    "Importance",
    "JudgedQuery",
    "Keyword",
    "Label",
    "LeftOut",
    "Link",
    "LocalEmbedder",
    "Memory",
    "MemoryChanges",
    "MemoryRepository",
    "NearDuplicate",
    "NewMemory",
    "OwnerCount",
    "Packed",
    "Page",
    "Profile",
    "ProfileEvaluation",
    "QueryPlan",
    "RankIndex",
    "RankIndexCheck",
    "RankIndexStatus",
    "Recency",
    "ScoredMemory",
    "Scores",
    "SearchArguments",
    "SignalAccount",
    "Similarity",
    "Strategy",
    "Term",
    "Time",
    "Trust",
    "Tuning",
    "Usefulness",
    "embedded",
    "export_file",
    "import_file",
    "load_queries",
    "migrate",
    "profiles",
    "save_queries",
    "score",
    "tiktoken_counter",
]


_LAZY = {
    "AsyncMemoryRepository": "pgrecall.execution",
    "FilterArguments": "pgrecall.ranking.filters",
    "GarbagePolicy": "pgrecall.lifecycle.garbage",
    "GarbageRun": "pgrecall.lifecycle.garbage",
    "MemoryChanges": "pgrecall.memories.changing",
    "MemoryRepository": "pgrecall.execution",
    "SearchArguments": "pgrecall.ranking.arguments",
    "export_file": "pgrecall.memories.file_export",
    "import_file": "pgrecall.memories.importing",
    "load_queries": "pgrecall.evaluation.queries_file",
    "save_queries": "pgrecall.evaluation.queries_file",
    "tiktoken_counter": "pgrecall.core.tokens",
}


def __getattr__(name: str) -> Any:
    """Imports on first access what is slow to import: statements, the repositories and Alembic."""
    if name == "migrate":
        return import_module("pgrecall.migrate")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
