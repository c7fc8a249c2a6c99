"""Answers: results of the repository as JSON, and their shapes for the OpenAPI document."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from starlette.responses import Response

from pgrecall.context.assembled import Context
from pgrecall.core.memory import Memory
from pgrecall.errors import MemoryNotFound
from pgrecall.evaluation.checked_query import JudgedQuery
from pgrecall.evaluation.queries_file import record_of
from pgrecall.memories.added import Added, Batch, Outcome
from pgrecall.memories.listing import Page
from pgrecall.migrate.service_keys import Scope
from pgrecall.ranking.hits import Hits
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.search.explanation import Explanation


@dataclass(frozen=True, slots=True)
class AddedAnswer:
    """The stored memory, and whether it is new."""

    id: UUID
    outcome: Outcome
    similarity: float | None
    trust: float | None


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The memories in the batch's order, and the errors of refused ones, by position from 0."""

    added: list[AddedAnswer]
    refused: dict[int, str]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits, best first."""

    results: list[ScoredMemory]
    strategy: str
    candidates: int | None
    period: tuple[Any, Any] | None
    profile: str
    """The one that ranked."""
    touched: bool
    """True if their retrieval was counted."""
    relevance: float | None
    """The highest relevance of the hits."""
    is_relevant: bool | None
    """False: nothing on this subject was found, and the hits are only the nearest."""
    reranked: bool | None
    """True if they are in the order of the reranker; null if the request did not ask for it."""
    rerank_note: str | None
    """The reason, if they are not."""


@dataclass(frozen=True, slots=True)
class MemoriesAnswer:
    """A page of memories; `next` is the parameter `after` of the next page."""

    memories: list[Memory]
    next: str | None
    total: int | None


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """The rights of the key of a request."""

    keyed: bool
    """False: the service asks for none."""
    owners: list[str] | None
    """The owners that it is for, a team as team:NAME; null: all."""
    scope: Scope
    default_owner: str
    """The owner of a request that names none; if the key is for several, the first of these."""
    embedder: bool
    """True if queries may be texts that are embedded; else they are vectors, or `keywords`."""
    version: str


@dataclass(frozen=True, slots=True)
class ProblemAnswer:
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] | None = None


def shown(result: Any, called: str | None = None) -> Any:
    """A result as the answer shows it, under the name `called` if it needs one. Raises
    MemoryNotFound for None."""
    match result:
        case None:
            raise MemoryNotFound()
        case Added():
            fields = (result.outcome, result.similarity, result.trust)
            return AddedAnswer(UUID(int=result.int), *fields)
        case Batch():
            refused = {place: str(error) for place, error in result.refused.items()}
            return BatchAnswer([shown(one) for one in result], refused)
        case Hits():
            how = (result.strategy, result.candidates, result.period)
            about = (result.profile, result.touched)
            reranked = (result.reranked, result.rerank_note)
            subject = (result.relevance, result.is_relevant)
            return SearchAnswer([*result], *how, *about, *subject, *reranked)
        case Page():
            return MemoriesAnswer([*result], result.next, result.total)
        case JudgedQuery():
            return record_of(result)
        case Context() | Explanation():
            return result.record()
    if called is None:
        return result
    return {called: [*map(shown, result)] if isinstance(result, list) else result}


_ANY: TypeAdapter[Any] = TypeAdapter(Any)


def answer(value: Any, status: int = 200) -> Response:
    """A value as JSON. The value was made here, so it is not validated again."""
    try:
        content = _ANY.dump_json(value)
    except ValueError:  # more levels than Pydantic goes down, stored long ago
        content = json.dumps(value, default=_plain, ensure_ascii=False).encode()
    return Response(content, status, media_type="application/json")


def _plain(value: Any) -> Any:
    """The value as Pydantic writes it, whose parts are still to be written."""
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return _ANY.dump_python(value, mode="json")
