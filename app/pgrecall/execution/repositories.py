"""The repositories: their methods and namespaces, made from operations.

Editors and type checkers read `repositories.pyi` instead of this module. `make stubs` generates it
from the classes at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from pgrecall.execution import synchronous
from pgrecall.execution.late_method import LateMethod, Operation, Operations

assembling = Operations("context.assembling")
evaluating = Operations("evaluation.evaluating")
recording = Operations("evaluation.recording")
tuning = Operations("evaluation.tuning")
collecting = Operations("lifecycle.collecting")
consolidating = Operations("lifecycle.consolidating")
correcting = Operations("lifecycle.correcting")
curating = Operations("lifecycle.curating")
erasing = Operations("lifecycle.erasing")
labelling = Operations("lifecycle.labelling")
linking = Operations("lifecycle.linking")
using = Operations("lifecycle.using")
adding = Operations("memories.adding")
changing = Operations("memories.changing")
deleting = Operations("memories.deleting")
exporting = Operations("memories.exporting")
listing = Operations("memories.listing")
metadata_values = Operations("memories.metadata_values")
reading = Operations("memories.reading")
restoring = Operations("memories.restoring")
telling_terms = Operations("memories.telling_terms")
upserting = Operations("memories.upserting")
building = Operations("rank_index.building")
maintaining = Operations("rank_index.maintaining")
checking = Operations("search.checking")
explaining = Operations("search.explaining")
planning = Operations("search.planning")
searching = Operations("search.searching")
warming = Operations("search.warming")

Methods = Mapping[str, Operation]
"""Operations and jobs by the names of their methods."""


class MemoryRepository(synchronous.Repository):
    """Stores and ranks the memories of agents.

    On an Engine, each call is a transaction of its own, and is retried after a deadlock or
    serialization failure. On a Connection or Session, a call takes part in the caller's
    transaction, and the caller commits or rolls back.

    `reads_from` is the engine of a replica of `bind`. Searches and other methods that only read
    then run there, while retrievals are counted on `bind`. What was written just now may be missing
    on the replica; `repository.primary` reads from `bind`. Jobs, `evaluation.evaluate` and
    `evaluation.tune`, and `rank_indexes` use `bind` alone.

    `schema` is the schema that `pgrecall migrate` created. `embedder` converts text to vectors, and
    `token_counter` counts the tokens of texts. `entities`, a function from a text to names, finds
    the entities of new memories that come without any; "auto" takes the owner's known entities and
    capitalised names (`pgrecall.core.entity_finding`). The logger `pgrecall` reports calls at
    DEBUG, and those that take more than `slow_after` seconds at WARNING. Without `durable_touch`,
    counting retrievals on an Engine does not wait for the disk: a crash of the server may lose the
    last counts. `profile`, a Profile or the name of a built-in one, ranks in each call that names
    none; without it the database's default does (`pgrecall profiles default`). `timezone` is the
    users', such as "Europe/Berlin", for calls that give none; the argument of `search` says what it
    changes. All methods raise PgRecallError and its children (`pgrecall.errors`).
    """


_METHODS: Methods = {
    "add": adding.add,
    "add_many": adding.add_many,
    "upsert": upserting.upsert,
    "upsert_many": upserting.upsert_many,
    "get": reading.get,
    "get_many": reading.get_many,
    "list": listing.list_memories,
    "update": changing.update,
    "delete": deleting.delete,
    "search": searching.search,
    "context": assembling.context,
    "explain": explaining.explain,
    "plan": planning.plan,
    "prepare": warming.prepare,
    "touch": changing.touch,
    "count": reading.count,
    "exists": reading.exists,
    "existing": reading.existing,
    "owners": listing.owners,
    "record_outcome": using.record_outcome,
    "feedback": using.feedback,
    "history": using.history,
    "supersede": correcting.supersede,
    "invalidate": correcting.invalidate,
    "revive": correcting.revive,
    "erase": erasing.erase,
}

_LABELS: Methods = {
    "add": labelling.label,
    "remove": labelling.unlabel,
    "of": labelling.labels,
    "find": labelling.labelled,
}

_LINKS: Methods = {
    "add": linking.link,
    "remove": linking.unlink,
    "of": linking.links,
}

_RANK_INDEXES: Methods = {
    "build": maintaining.build_rank_indexes,
    "maintain": maintaining.maintain_rank_indexes,
    "check": checking.check_rank_index,
    "status": building.rank_indexes,
    "progress": building.rank_index_progress,
    "drop": building.drop_rank_index,
}

_UPKEEP: Methods = {
    "adjust_trust": using.adjust_trust,
    "set_importance": correcting.set_importance,
    "approve": correcting.approve,
    "reject": correcting.reject,
    "promote": correcting.promote,
    "demote": correcting.demote,
    "clusters": curating.clusters,
    "consolidate": consolidating.consolidate,
    "near_duplicates": curating.near_duplicates,
    "prune": curating.prune,
    "complete_stale_tasks": curating.complete_stale_tasks,
    "collect_garbage": collecting.collect_garbage,
    "erase_owner": erasing.erase_owner,
    "vacuum": erasing.vacuum,
    "extend_expiry": changing.extend_expiry,
    "telling_terms": telling_terms.telling_terms,
    "metadata_values": metadata_values.metadata_values,
}

_EVALUATION: Methods = {
    "evaluate": evaluating.evaluate,
    "tune": tuning.tune,
    "recorded_queries": recording.recorded_queries,
}

_TRANSFER: Methods = {
    "export": exporting.export,
    "restore": restoring.restore,
}

_IDS: Methods = {
    "find": reading.find_ids,
    "of_key": reading.key_id,
    "shorten": reading.short_ids,
}

_NAMESPACES = (
    ("labels", "Labels", _LABELS, "Labels of memories, and finding memories by them."),
    ("links", "Links", _LINKS, "Links between memories of one owner."),
    (
        *("rank_indexes", "RankIndexes", _RANK_INDEXES),
        "Rank indexes, which make searches among many memories fast.",
    ),
    ("upkeep", "Upkeep", _UPKEEP, "Curation of an agent's memories, and garbage collection."),
    (
        *("evaluation", "Evaluations", _EVALUATION),
        "Evaluation and tuning of profiles by judged queries.",
    ),
    ("transfer", "Transfer", _TRANSFER, "Moving memories out, and in with their state."),
    ("ids", "Ids", _IDS, "Short ids, and finding ids by their first digits or a key."),
)


def complete(repository: type, running: ModuleType, prefix: str = "") -> None:
    """Adds methods and namespaces to a repository. The classes of namespaces join its module."""
    module = repository.__module__
    for name, class_name, methods, docstring in _NAMESPACES:
        described = {"__doc__": f"`repository.{name}`. {docstring}", "__module__": module}
        namespace = type(f"{prefix}{class_name}", (running.Namespace,), described)
        _give(namespace, methods, running)
        setattr(sys.modules[module], namespace.__name__, namespace)
        setattr(repository, name, _reached(namespace, docstring))
    _give(repository, _METHODS, running)


def _give(owner: type, methods: Methods, running: ModuleType) -> None:
    for name, operation in methods.items():
        setattr(owner, name, LateMethod(owner, name, operation, running))


def _reached(namespace: type, docstring: str) -> property:
    def get(self: Any) -> Any:
        return namespace(self)

    get.__doc__, get.__annotations__ = docstring, {"return": namespace.__name__}
    return property(get)


def __getattr__(name: str) -> Any:
    """AsyncMemoryRepository and its namespaces, imported when first used: SQLAlchemy's asyncio and
    ORM take 50 ms."""
    if not name.startswith("Async"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("pgrecall.execution.async_repository"), name)


complete(MemoryRepository, synchronous)
