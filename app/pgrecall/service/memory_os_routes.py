"""/v1: the interface of Memory OS, so that its clients work with another base URL.

What its documentation leaves open is decided in ADR-0051.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from hashlib import sha256
from math import log
from typing import Any, Literal
from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.responses import Response

from pgrecall.core.memory import Memory, NewMemory
from pgrecall.errors import MemoryNotFound
from pgrecall.lifecycle.using import Feedback
from pgrecall.memories.record import is_uuid
from pgrecall.scoring.profiles import tiered
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.scoring.scorer import score
from pgrecall.scoring.signals import Recency
from pgrecall.service.answers import answer
from pgrecall.service.bodies import Body, Limit, MaxTokens, Vector
from pgrecall.service.caller import Caller, Reader, Writer

IN_METADATA = ("external_id", "source_id", "parent_memory_id")
"""Fields of Memory OS that are stored in the metadata."""
_COLUMNS = {"importance_score": "importance", "confidence_score": "confidence"}
Tier = Literal["short", "medium", "long"]


class UpdateV1(Body):
    """Fields of a memory to change."""

    content: str | None = None
    content_type: str | None = None
    tier: Tier | None = None
    memory_nature: str | None = None
    importance_score: float | None = None
    confidence_score: float | None = None
    parent_memory_id: str | None = None
    external_id: str | None = None
    source_id: str | None = None
    metadata: dict[str, Any] | None = None
    tags: list[str] | None = None
    entities: list[str] | None = None

    def columns(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The fields by their names here, with `stored`, the memory's metadata before."""
        fields = {name: value for name, value in self.sent_fields().items() if value is not None}
        new_fields = {name: fields.pop(name) for name in IN_METADATA if name in fields}
        stored_fields = {name: value for name, value in stored.items() if name in IN_METADATA}
        metadata = {**fields.pop("metadata", stored), **stored_fields, **new_fields}
        return {_COLUMNS.get(name, name): fields[name] for name in fields} | {"metadata": metadata}


class CreateV1(UpdateV1):
    """A new memory."""

    content: str


class SearchV1(Body):
    """A search by the six-factor score; `threshold` is the least combined score of a result."""

    query: str | None = None
    embedding: Vector | None = None
    threshold: float = 0.0
    limit: Limit = 20
    tier: Tier | None = None
    memory_nature: str | None = None
    content_type: str | None = None
    tags: list[str] | None = None
    entities: list[str] | None = None
    metadata: dict[str, Any] | None = None


class FeedbackV1(Body):
    """Feedback on a memory."""

    memory_id: str
    type: Feedback
    context: str | None = None


class ContextV1(Body):
    """A query whose memories to return as text."""

    query: str
    max_tokens: MaxTokens = 4000
    tier: Tier | None = None
    format: Literal["text", "json"] = "text"


_routes = APIRouter(include_in_schema=False)


@_routes.post("/memories", status_code=201)
async def create(caller: Writer, body: CreateV1) -> Response:
    fields = {"content_type": "text", "tier": "short", **body.columns({})}
    parent = body.parent_memory_id and (await _read(caller, body.parent_memory_id)).id
    added = await caller.repo.add(caller.owner, NewMemory(**fields), duplicates="allow")
    if parent:
        await caller.repo.links.add(caller.owner, added, parent)
    return _enveloped(_shown(await _read(caller, str(added))), 201)


@_routes.get("/memories")
async def list_memories(
    caller: Reader,
    limit: Limit = 20,
    after: str | None = None,
    tier: Tier | None = None,
    memory_nature: str | None = None,
    content_type: str | None = None,
) -> Response:
    chosen = _filter(tier=tier, memory_nature=memory_nature, content_type=content_type)
    page = await caller.repo.list(caller.owner, limit=limit, after=after, filter=chosen)
    return _enveloped([_shown(one) for one in page], next=page.next)


@_routes.get("/memories/{memory_id}")
async def get(caller: Reader, memory_id: str) -> Response:
    return _enveloped(_shown(await _read(caller, memory_id)))


@_routes.patch("/memories/{memory_id}")
async def update(caller: Writer, memory_id: str, body: UpdateV1) -> Response:
    memory = await _read(caller, memory_id)
    changes = body.columns(memory.metadata)
    return _enveloped(_shown(await caller.repo.update(caller.owner, memory.id, **changes)))


@_routes.delete("/memories/{memory_id}")
async def delete(caller: Writer, memory_id: str) -> Response:
    await caller.repo.delete(caller.owner, (await _read(caller, memory_id)).id)
    return _enveloped({"id": memory_id, "deleted": True})


@_routes.post("/search")
async def search(caller: Reader, body: SearchV1) -> Response:
    hits = await caller.repo.search(
        caller.owner,
        body.query if body.embedding is None else body.embedding,
        k=body.limit,
        profile=tiered,
        min_score=body.threshold,
        touch=caller.touch(),
        filter=_filter(**body.sent_fields("query", "embedding", "threshold", "limit")),
    )
    data = {"results": [_result(hit) for hit in hits], "search_type": "semantic"}
    return _enveloped({**data, "threshold": body.threshold})


@_routes.post("/feedback")
async def feedback(caller: Writer, body: FeedbackV1) -> Response:
    rated = await _read(caller, body.memory_id)
    memory = await caller.repo.feedback(caller.owner, rated.id, body.type, body.context)
    return _enveloped({**body.model_dump(), "relevance_score": _relevance(memory)})


@_routes.post("/context")
async def context(caller: Reader, body: ContextV1) -> Response:
    began = time.perf_counter()
    packed = await caller.repo.context(
        caller.owner,
        body.query,
        max_tokens=body.max_tokens,
        profile=tiered,
        touch=caller.touch(),
        filter=_filter(tier=body.tier),
    )
    memories = [
        {"id": _name(one), "content": one.content, "tier": one.tier, "score": value}
        for one, value in ((each.hit.memory, each.hit.score) for each in packed.packed)
    ]
    data = {
        "context": packed.text if body.format == "text" else json.dumps(memories),
        "memories": memories,
        "token_count": packed.tokens,
        "retrieval_time_ms": round((time.perf_counter() - began) * 1000),
    }
    return _enveloped(data)


router = APIRouter()
for _prefix in ("/v1", "/api/v1"):  # its examples have both
    router.include_router(_routes, prefix=_prefix)


def _filter(metadata: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A filter by the fields that are given; of metadata by each key: lists may hold more."""
    found = {name: one for name, one in fields.items() if one}
    for key, one in (metadata or {}).items():
        escaped = key.replace("\\", "\\\\").replace(".", "\\.")
        found[f"metadata.{escaped}"] = {"$all" if isinstance(one, list) and one else "$eq": one}
    return found


async def _read(caller: Caller, name: str) -> Memory:
    """The memory of this id. Ids such as mem_123, which were imported, are keys."""
    by: dict[str, Any] = {"memory_id": UUID(name)} if is_uuid(name) else {"key": name}
    memory = await caller.repo.get(caller.owner, **by)
    if memory is None:
        raise MemoryNotFound()
    return memory


def _name(memory: Memory) -> str:
    return memory.key or str(memory.id)


def _relevance(memory: Memory) -> float:
    """Usefulness, which feedback moves, times recency; Memory OS does not publish its formula."""
    names = ("created_at", "last_accessed_at", "tier", "usefulness")
    signals = score(tiered, {name: getattr(memory, name) for name in names}).signals
    return signals["recency"] * signals["usefulness"]


[_recency] = [one for one in tiered.signals if isinstance(one, Recency)]
DECAY_RATES = {tier: log(2) / (24 * days) for tier, days in _recency.half_lives_by_tier}
"""Per hour."""


def _shown(memory: Memory) -> dict[str, Any]:
    same = (
        *("content", "tier", "memory_nature", "created_at", "updated_at", "expires_at"),
        *("last_accessed_at", "tags", "entities"),
    )
    return {
        "id": _name(memory),
        "content_type": memory.content_type or "text",
        "metadata": {name: v for name, v in memory.metadata.items() if name not in IN_METADATA},
        **{name: getattr(memory, name) for name in same},
        **{name: memory.metadata.get(name) for name in IN_METADATA},
        "relevance_score": _relevance(memory),
        "importance_score": memory.importance,
        "confidence_score": memory.confidence,
        "decay_rate": DECAY_RATES[memory.tier],
        "access_count": memory.retrieval_count,
        "pii_detected": False,
        "pii_fields": [],
        "integrity_hash": sha256(memory.content.encode()).hexdigest(),
    }


def _result(hit: ScoredMemory) -> dict[str, Any]:
    same = ("id", "content", "content_type", "metadata", "tier", "memory_nature", "created_at")
    shown = _shown(hit.memory)
    relevance = hit.signals["recency"] * hit.signals["usefulness"]
    scores = {"similarity": hit.similarity, "combined_score": hit.score}
    return {name: shown[name] for name in same} | scores | {"relevance_score": relevance}


def _enveloped(data: Any, status: int = 200, **meta: Any) -> Response:
    """The data in an envelope, and the fields of an object beside it, too: both are documented."""
    beside = data if isinstance(data, dict) else {}
    about = {"request_id": f"req_{uuid4().hex}", **meta}
    return answer({**beside, "data": data, "meta": about}, status)
