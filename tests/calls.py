"""Every operation and every installed function once: good arguments, and what is known of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Subquery

from pgrecall import (
    Added,
    Change,
    Consolidation,
    Context,
    Erased,
    Evaluation,
    Event,
    Explanation,
    Health,
    JudgedQuery,
    Link,
    MaintenanceRun,
    Memory,
    MemoryRepository,
    NewMemory,
    QueryPlan,
    RankIndex,
    RankIndexStatus,
    RetentionPolicy,
    ScoredMemory,
    Tuning,
)
from pgrecall.context.assembled import Packed
from pgrecall.evaluation.results import ProfileEvaluation
from pgrecall.memories.listing import OwnerCount
from pgrecall.scoring.profiles import BUILT_IN
from tests.integration.support import at as angle
from tests.methods import method

Work = Callable[[MemoryRepository], Any]
Direction = Callable[[float], list[float]]
ID, OTHER, ABSENT, NEW = (UUID(int=n) for n in (1, 2, 3, 9))


class Operation(NamedTuple):
    arguments: dict[str, Any]
    """Beside the owner."""
    result: Any
    """As `shown` shows it, of the six memories of `furnish` in test_both_repositories."""
    events: str = ""
    """That it leaves, each kind once."""


def operations(
    one: UUID,
    other: UUID,
    gone: UUID = ABSENT,
    waiting: UUID = ABSENT,
    at: Direction = angle,
    queries: int = 12,
) -> dict[str, Operation]:
    """All methods of a repository, about two memories, a forgotten one and one to be approved."""
    new = NewMemory("new 9", id=NEW, embedding=at(9))
    keyed = NewMemory("new 9", key="k", embedding=at(9))
    judged = [JudgedQuery(at(n), [one], keywords=f"onesecret {n}") for n in range(queries)]
    near: dict[str, Any] = {"min_similarity": 0.5, "more_than": 1}
    query: dict[str, Any] = {"query": at(0)}
    ids: dict[str, Any] = {"memory_ids": [one]}
    link: dict[str, Any] = {"source_id": one, "target_id": other}
    five = ["memory 1", "memory 0", "memory 2", "memory 4", "memory 3"]
    next_ = Link(source_id=one, target_id=other, kind="next", weight=0.5)
    line = {"content": "new 8", "id": "x1", "embedding": at(8), "retrieval_count": 7}
    return {
        "add": Operation({"memory": new}, "inserted", "initial"),
        "add_many": Operation({"memories": [new, new]}, ["inserted", "known"], "initial"),
        "context": Operation(query, five),
        "count": Operation({}, 5),
        "delete": Operation(ids, 1, "deleted"),
        "erase": Operation(ids, 1),
        "evaluation.evaluate": Operation({"queries": judged}, ["hybrid"]),
        "evaluation.judge": Operation({"memory_id": one, "query": "why?"}, True, "judgement"),
        "evaluation.judged_queries": Operation({}, []),
        "evaluation.tune": Operation({"queries": judged}, ["hybrid", "hybrid_tuned"]),
        "explain": Operation({"memory_id": one, **query}, 1),
        "feedback": Operation({"memory_id": one, "kind": "useful"}, "memory 1", "feedback"),
        "get": Operation({"memory_id": one}, "memory 1"),
        "get_many": Operation({"memory_ids": [other, ABSENT, one]}, ["memory 2", "memory 1"]),
        "history": Operation({"memory_id": one}, ["initial", "linked", "reinforcement"]),
        "invalidate": Operation(ids, 1, "forgotten"),
        "links.add": Operation(link, None, "linked"),
        "links.of": Operation({"memory_id": one}, [next_]),
        "links.remove": Operation(link | {"kind": "next"}, True, "unlinked"),
        "names.alias": Operation({"alias": "Kate", "entity": "Emi"}, True),
        "names.aliases": Operation({}, []),
        "names.remove": Operation({"alias": "Kate"}, 0),
        "list": Operation({"order": "-id", "limit": 2}, ["memory 4", "memory 3"]),
        "owners": Operation({}, ["agent", "another"]),
        "matched": Operation(query, "m"),
        "plan": Operation(query, "exact"),
        "rank_indexes.build": Operation({"at_least": 1}, ["agent", "another"]),
        "rank_indexes.drop": Operation({}, False),
        "rank_indexes.status": Operation({"at_least": 5}, ["agent"]),
        "record_outcome": Operation(
            {"memory_id": one, "outcome": "failure"}, "memory 1", "penalty"
        ),
        "revive": Operation({"memory_ids": [gone]}, 1, "revived"),
        "search": Operation(query | {"k": 2}, five[:2]),
        "search_many": Operation({"queries": [at(0), None], "k": 2}, [five[:2], five[:2]]),
        "supersede": Operation({"memory_id": one, "new": new}, "inserted", "initial superseded"),
        "touch": Operation({"memory_ids": [one, other]}, 2),
        "transfer.export": Operation({"write": lambda lines: None}, 8),
        "transfer.restore": Operation({"memories": [line, line]}, ["inserted", "known"], "initial"),
        "update": Operation({"memory_id": one, "importance": 0.9}, "memory 1", "updated"),
        "adjust_trust": Operation(
            {"memory_id": one, "delta": 0.1, "reason": "why", "actor": "who"}, "memory 1", "manual"
        ),
        "approve": Operation({"memory_ids": [waiting]}, 1, "approved"),
        "changes": Operation({"limit": 1}, ["forgotten"]),
        "consolidate": Operation(near, [0.6], "consolidated initial"),
        "erase_owner": Operation({}, 7),
        "maintenance.health": Operation({}, None),
        "maintenance.run": Operation({"policy": RetentionPolicy.grace()}, 7, "archived"),
        "reject": Operation({"memory_ids": [waiting]}, 1, "archived"),
        "upsert": Operation({"memory": keyed}, "inserted", "initial"),
        "upsert_many": Operation({"memories": [keyed, keyed]}, ["inserted", "known"], "initial"),
    }


READING = {
    *("context", "count", "evaluation.evaluate", "evaluation.judged_queries"),
    *("evaluation.tune", "explain", "get", "get_many", "history"),
    *("links.of", "list", "names.aliases", "owners"),
    *("matched", "plan", "search", "search_many", "transfer.export", "changes"),
}
"""What a reader may call and a replica answers; a search counts its hits on the primary."""
MAINTAINING = {
    *("erase", "rank_indexes.build", "rank_indexes.drop"),
    *("erase_owner", "maintenance.run"),
}
"""What takes a maintainer; the rest a writer."""
OF_ALL = {
    *("owners", "rank_indexes.build", "rank_indexes.status"),
    *("transfer.export", "changes", "maintenance.health", "maintenance.run"),
}
"""Operations on the memories of all owners unless one is named."""
OF_NONE = {"owners", "maintenance.health"}
"""Operations that take no owner."""
GOOD = {name: one.arguments for name, one in operations(ID, OTHER).items()}

_SHOWN: dict[type, str] = {
    Added: "outcome",
    Change: "event.event_type",
    Consolidation: "importance",
    Context: "packed",
    Erased: "memories",
    Evaluation: "profiles",
    Event: "event_type",
    Explanation: "rank",
    Health: "last_maintenance",
    JudgedQuery: "query",
    MaintenanceRun: "scanned",
    Memory: "content",
    OwnerCount: "agent_id",
    Packed: "hit",
    ProfileEvaluation: "profile.name",
    QueryPlan: "strategy",
    RankIndex: "agent_id",
    RankIndexStatus: "agent_id",
    ScoredMemory: "memory",
    Subquery: "name",
    Tuning: "held_out",
}


def shown(value: Any) -> Any:
    """What an operation returned, in few words: by the one attribute that tells most."""
    for kind, name in _SHOWN.items():
        if isinstance(value, kind):
            return shown(attrgetter(name)(value))
    if isinstance(value, dict):
        return [shown(one) for one in value.values()]
    return [shown(one) for one in value] if isinstance(value, list | tuple | set) else value


class Things(NamedTuple):
    """Of a tenant's, what its calls are about."""

    memory: UUID
    other: UUID
    gone: UUID
    waiting: UUID

    @classmethod
    def named(cls, things: dict[str, str]) -> Things:
        """From those of `things_of`."""
        return cls(*(UUID(things[name].split("'")[1]) for name in cls._fields))


_HYBRID: dict[str, Any] = {"keywords": "onesecret", "profile": "hybrid"}
_RERANKED = _HYBRID | {"rerank": lambda query, texts: [float(len(text)) for text in texts]}
_SECRET: dict[str, Any] = {"content": {"$match": "onesecret"}}
_MORE: dict[str, list[dict[str, Any]]] = {
    "context": [_HYBRID | {"teams": ["one"]}, _RERANKED],
    "delete": [{"filter": _SECRET}, {"filter": _SECRET, "dry_run": True}],
    "evaluation.evaluate": [{"rerank": _RERANKED["rerank"]}],
    "list": [{"total": True}, {"order": "retrieval_count", "filter": {"tags": "onetag"}}],
    "rank_indexes.build": [{"agent_id": None, "at_least": 100}],
    "search": [_HYBRID, {"teams": ["one"]}, {"strategy": "index"}, _RERANKED],
    "transfer.export": [{"agent_id": None}, {"events": True}],
}
"""Further arguments, by which other statements are sent."""


def works(name: str, things: Things, at: Direction = angle) -> list[Work]:
    """Calls of a method about the tenant 'one'."""
    arguments = operations(*things, at, queries=1)[name].arguments
    several = [arguments, *_MORE.get(name, [])]
    return [partial(_call, name, arguments | one) for one in several]


def _call(name: str, arguments: dict[str, Any], repo: MemoryRepository) -> Any:
    owner = {} if name in OF_NONE else {"agent_id": "one"}
    return method(repo, name)(**owner | arguments)


# Functions and procedures


_COMPUTING = ("count", "length", "cardinality", "max", "substring")


def named_calls(text: str) -> dict[str, list[str]]:
    """Calls by the functions that they call, to be formatted with what is of the tenant's."""
    calls: dict[str, list[str]] = {}
    for call in text.strip().replace("\n    ", " ").split("\n"):
        called = [one for one in re.findall(r"(\w+)\(", call) if one not in _COMPUTING]
        braces = call.replace("{", "{{").replace("}", "}}")
        calls.setdefault(called[0], []).append(re.sub(r"<(\w+)>", r"{\1}", braces))
    return calls


_listed = Path(__file__).with_name("functions.txt").read_text().split("\n== ")[1:]
ON_FEW, ON_ALL, _WITHIN = (named_calls(part.partition("\n")[2]) for part in _listed)
RECALLS = [f"recall('one', {{vector}}, profile => '{profile}')" for profile in sorted(BUILT_IN)]
CALLS = {
    name: [
        call
        for some in ({"recall": RECALLS}, ON_FEW, ON_ALL, _WITHIN)
        for call in some.get(name, [])
    ]
    for name in (*ON_FEW, *ON_ALL, *_WITHIN)
}
"""Of all functions."""
PROCEDURES: dict[str, list[str]] = {
    "build_rank_index": ["build_rank_index('one', 1)"],
    "_maintain_rank_index": ["_maintain_rank_index('one', 1, now())"],
    "erase_owner": ["erase_owner('one')"],
    "maintain": [
        "maintain('one', jsonb_build_object('max_live', 1), false, at_least => 1)",
        *("maintain('one')", "maintain(dry_run => false)"),
    ],
}


def selected(call: str) -> str:
    """The statement of a call of CALLS."""
    return f"SELECT {'' if call.startswith(_CALLS_OF_ONE_VALUE) else '* FROM '}{call}"


_CALLS_OF_ONE_VALUE = tuple(f"{name}(" for name in _COMPUTING)
