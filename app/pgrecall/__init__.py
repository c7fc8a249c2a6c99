"""Ranks the memories of AI agents inside PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgrecall import embedded, migrate
    from pgrecall.context.assembled import Context
    from pgrecall.context.styles import Style
    from pgrecall.core.embedders import AsyncEmbedder, Embedder, LocalEmbedder
    from pgrecall.core.memory import Memory, MemoryChanges, NewMemory, NewMemoryDict
    from pgrecall.core.model_embedders import (
        FastEmbedEmbedder,
        OpenAIEmbedder,
        SentenceTransformersEmbedder,
    )
    from pgrecall.core.rerankers import Rerank, Reranker
    from pgrecall.errors import (
        DatabaseConflict,
        DatabaseError,
        DatabaseReadOnly,
        DatabaseTimeout,
        DatabaseUnavailable,
        DuplicateMemory,
        EmbedderMismatch,
        EmbedderRequired,
        EmbeddingFailed,
        ExtraMissing,
        InputError,
        InvalidLine,
        InvalidMemory,
        InvalidProfile,
        InvalidVector,
        MemoryNotFound,
        MigrationFailed,
        NotCompliant,
        PgRecallError,
        PgvectorUnusable,
        SchemaError,
        SchemaMissing,
        SchemaOutdated,
        SchemaTooNew,
        ServerInUse,
        SupersessionConflict,
        UnknownName,
    )
    from pgrecall.evaluation.checked_query import JudgedQuery
    from pgrecall.evaluation.queries_file import load_queries, save_queries
    from pgrecall.evaluation.relevance_thresholds import Floor
    from pgrecall.evaluation.results import Evaluation
    from pgrecall.evaluation.tuned import Tuning
    from pgrecall.execution import AsyncMemoryRepository, MemoryRepository
    from pgrecall.execution.search_path import pin_search_path
    from pgrecall.lifecycle.consolidating import Consolidation
    from pgrecall.lifecycle.erasing import Erased
    from pgrecall.lifecycle.event import Change, Event
    from pgrecall.lifecycle.health import Health, LastMaintenance
    from pgrecall.lifecycle.linking import Link
    from pgrecall.lifecycle.maintenance import MaintenanceRun, MaintenanceTask
    from pgrecall.lifecycle.retention import RetentionPolicy
    from pgrecall.memories.added import Added, Batch
    from pgrecall.memories.file_export import export_file
    from pgrecall.memories.importing import Imported, import_file
    from pgrecall.memories.listing import Page
    from pgrecall.migrate.moving_in import import_from
    from pgrecall.rank_index.index import RankIndex, RankIndexStatus
    from pgrecall.ranking.hits import Hits
    from pgrecall.scoring import bands, profiles
    from pgrecall.scoring.attribute import Attribute
    from pgrecall.scoring.profile import Profile
    from pgrecall.scoring.scored_memory import ScoredMemory
    from pgrecall.scoring.scorer import score, score_all
    from pgrecall.scoring.signals import (
        Confidence,
        Decay,
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
    from pgrecall.search.explanation import Explanation
    from pgrecall.search.planning import QueryPlan

__all__ = [
    "Added",
    "AsyncEmbedder",
    "AsyncMemoryRepository",
    "Attribute",
    "Batch",
    "Change",
    "Confidence",
    "Consolidation",
    "Context",
    "DatabaseConflict",
    "DatabaseError",
    "DatabaseReadOnly",
    "DatabaseTimeout",
    "DatabaseUnavailable",
    "Decay",
    "DuplicateMemory",
    "Embedder",
    "EmbedderMismatch",
    "EmbedderRequired",
    "EmbeddingFailed",
    "EntityOverlap",
    "Erased",
    "Evaluation",
    "Event",
    "Explanation",
    "ExtraMissing",
    "FastEmbedEmbedder",
    "Floor",
    "Frequency",
    "Health",
    "Hits",
    "Importance",
    "Imported",
    "InputError",
    "InvalidLine",
    "InvalidMemory",
    "InvalidProfile",
    "InvalidVector",
    "JudgedQuery",
    "Keyword",
    "LastMaintenance",
    "Link",
    "LocalEmbedder",
    "MaintenanceRun",
    "MaintenanceTask",
    "Memory",
    "MemoryChanges",
    "MemoryNotFound",
    "MemoryRepository",
    "MigrationFailed",
    "NewMemory",
    "NewMemoryDict",
    "NotCompliant",
    "OpenAIEmbedder",
    "Page",
    "PgRecallError",
    "PgvectorUnusable",
    "Profile",
    "QueryPlan",
    "RankIndex",
    "RankIndexStatus",
    "Recency",
    "Rerank",
    "Reranker",
    "RetentionPolicy",
    "SchemaError",
    "SchemaMissing",
    "SchemaOutdated",
    "SchemaTooNew",
    "ScoredMemory",
    "SentenceTransformersEmbedder",
    "ServerInUse",
    "Similarity",
    "Style",
    "SupersessionConflict",
    "Time",
    "Trust",
    "Tuning",
    "UnknownName",
    "Usefulness",
    "bands",
    "embedded",
    "export_file",
    "import_file",
    "import_from",
    "load_queries",
    "migrate",
    "pin_search_path",
    "profiles",
    "save_queries",
    "score",
    "score_all",
]

_MODULES = {
    "context.assembled": "Context",
    "context.styles": "Style",
    "core.embedders": "AsyncEmbedder Embedder LocalEmbedder",
    "core.memory": "Memory MemoryChanges NewMemory NewMemoryDict",
    "core.model_embedders": "FastEmbedEmbedder OpenAIEmbedder SentenceTransformersEmbedder",
    "core.rerankers": "Rerank Reranker",
    "errors": "DatabaseConflict DatabaseError DatabaseReadOnly DatabaseTimeout "
    "DatabaseUnavailable DuplicateMemory EmbedderMismatch EmbedderRequired "
    "EmbeddingFailed ExtraMissing InputError InvalidLine InvalidMemory InvalidProfile "
    "InvalidVector MemoryNotFound MigrationFailed NotCompliant PgRecallError "
    "PgvectorUnusable SchemaError SchemaMissing SchemaOutdated SchemaTooNew "
    "ServerInUse SupersessionConflict UnknownName",
    "evaluation.checked_query": "JudgedQuery",
    "evaluation.queries_file": "load_queries save_queries",
    "evaluation.relevance_thresholds": "Floor",
    "evaluation.results": "Evaluation",
    "evaluation.tuned": "Tuning",
    "execution": "AsyncMemoryRepository MemoryRepository",
    "execution.search_path": "pin_search_path",
    "lifecycle.consolidating": "Consolidation",
    "lifecycle.erasing": "Erased",
    "lifecycle.event": "Change Event",
    "lifecycle.health": "Health LastMaintenance",
    "lifecycle.linking": "Link",
    "lifecycle.maintenance": "MaintenanceRun MaintenanceTask",
    "lifecycle.retention": "RetentionPolicy",
    "memories.added": "Added Batch",
    "memories.file_export": "export_file",
    "memories.importing": "Imported import_file",
    "memories.listing": "Page",
    "migrate.moving_in": "import_from",
    "rank_index.index": "RankIndex RankIndexStatus",
    "ranking.hits": "Hits",
    "scoring.attribute": "Attribute",
    "scoring.profile": "Profile",
    "scoring.scored_memory": "ScoredMemory",
    "scoring.scorer": "score score_all",
    "scoring.signals": "Confidence Decay EntityOverlap Frequency Importance Keyword "
    "Recency Similarity Time Trust Usefulness",
    "search.explanation": "Explanation",
    "search.planning": "QueryPlan",
}
"""Module → those of its names that can be imported from here."""
_SUBMODULES = {
    "bands": "scoring.bands",
    "embedded": "embedded",
    "migrate": "migrate",
    "profiles": "scoring.profiles",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Imports what a name stands for when it is first used: no program needs all of it."""
    if name in _SUBMODULES:
        found: Any = import_module(f"{__name__}.{_SUBMODULES[name]}")
    elif name in _PLACES:
        found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
