"""A vector store and a retriever for LangChain. Needs the extra `langchain`.

A document is a memory: its id is the memory's key, or the memory's own id if it has no key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Self
from uuid import UUID

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from sqlalchemy import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from pgrecall.core.ids import id_of_key, new_id
from pgrecall.core.limits import is_storable
from pgrecall.core.memory import Memory, NewMemory
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.core.validation import in_list
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.execution import AsyncMemoryRepository, MemoryRepository
from pgrecall.execution.repository_pair import Calls, RepositoryPair, call
from pgrecall.ranking.filter_keys import on_metadata
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import ScoredMemory

MOST_DIVERSE = 0.999
"""The greatest `diversity` of a context; LangChain's lambda_mult may be 0."""

Scored = list[tuple[Document, float]]


class RecallVectorStore(VectorStore):
    """One agent's memories as a LangChain vector store.

    `repositories` are a MemoryRepository, an AsyncMemoryRepository, or one of each. Without the
    asynchronous one, asynchronous methods run in a thread; without the synchronous one, only
    asynchronous methods work. With `repository.teams`, `agent_id` is that of a team.

    Searches take the arguments of `repository.search` by name; `search` are their defaults.
    `filter` of a call is LangChain's, as PGVectorStore has it: its keys are those of metadata. A
    `filter` among the defaults is pgrecall's, and restricts every search. A score is pgrecall's.
    Adding a document under an id that is there replaces it. Errors are those of the repository.
    """

    def __init__(
        self,
        *repositories: MemoryRepository | AsyncMemoryRepository,
        agent_id: str | UUID,
        **search: Any,
    ) -> None:
        self._either = RepositoryPair(repositories, type(self).__name__)
        self._agent_id = agent_id
        self._search = search

    @property
    def embeddings(self) -> Embeddings | None:
        """The repository's embedder, if it is one of LangChain's."""
        embedder = self._either.embedder
        return embedder if isinstance(embedder, Embeddings) else None

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        bind: Engine | Connection | Session | None = None,
        agent_id: str | UUID = "",
        schema: str = DEFAULT_SCHEMA,
        **search: Any,
    ) -> Self:
        """A store with these texts, on a database to which `pgrecall migrate up` was applied."""
        if bind is None:
            raise InputError("from_texts needs bind, an SQLAlchemy Engine, and agent_id")
        repository = MemoryRepository(bind, schema=schema, embedder=embedding)
        store = cls(repository, agent_id=agent_id, **search)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        bind: AsyncEngine | AsyncConnection | AsyncSession | None = None,
        agent_id: str | UUID = "",
        schema: str = DEFAULT_SCHEMA,
        **search: Any,
    ) -> Self:
        """A store with these texts, on a database to which `pgrecall migrate up` was applied."""
        if bind is None:
            raise InputError("afrom_texts needs bind, an SQLAlchemy AsyncEngine, and agent_id")
        repository = AsyncMemoryRepository(bind, schema=schema, embedder=embedding)
        store = cls(repository, agent_id=agent_id, **search)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Adds texts, in one transaction; returns their ids. Other arguments are NewMemory's."""
        return self._either.run(self._add(texts, metadatas, ids, kwargs))

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        return await self._either.arun(self._add(texts, metadatas, ids, kwargs))

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids, valid or not, in their order; others are left out."""
        return self._either.run(self._get(ids))

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        return await self._either.arun(self._get(ids))

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Deletes the documents with these ids; others are ignored. Raises InputError without ids:
        `repository.erase_owner` deletes all that an agent has."""
        return self._either.run(self._delete(ids))

    async def adelete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        return await self._either.arun(self._delete(ids))

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The k best documents by the profile, best first."""
        return _documents(self._either.run(self._scored(query, k, kwargs)))

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return _documents(await self._either.arun(self._scored(query, k, kwargs)))

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        """The k best documents with their scores."""
        return self._either.run(self._scored(query, k, kwargs))

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Scored:
        return await self._either.arun(self._scored(query, k, kwargs))

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The k best documents for a vector; words need `keywords`, too."""
        return _documents(self._either.run(self._scored(embedding, k, kwargs)))

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return _documents(await self._either.arun(self._scored(embedding, k, kwargs)))

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """k of the `fetch_k` best documents, each chosen by
        lambda_mult · score - (1 - lambda_mult) · similarity to the nearest chosen one."""
        return self._either.run(self._diverse(query, k, fetch_k, lambda_mult, kwargs))

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        chosen = self._diverse(query, k, fetch_k, lambda_mult, kwargs)
        return await self._either.arun(chosen)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        return self._either.run(self._diverse(embedding, k, fetch_k, lambda_mult, kwargs))

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        chosen = self._diverse(embedding, k, fetch_k, lambda_mult, kwargs)
        return await self._either.arun(chosen)

    def _select_relevance_score_fn(self) -> Any:
        """A score is within 0 and 1 already."""
        return lambda score: score

    def _add(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any]] | None,
        ids: Sequence[str | None] | None,
        fields: Mapping[str, Any],
    ) -> Calls[list[str]]:
        contents = [*texts]
        of_each = [{} for _ in contents] if metadatas is None else metadatas
        keys = [one or str(new_id()) for one in ids or [None] * len(contents)]
        for name, values in (("metadatas", of_each), ("ids", keys)):
            if len(values) != len(contents):
                raise InputError(f"{name} has {len(values)} entries for {len(contents)} texts")
        new = [
            NewMemory(content, key=key, metadata=metadata, **fields)
            for content, key, metadata in zip(contents, keys, of_each, strict=True)
        ]
        yield call("upsert_many", self._agent_id, new)
        return keys

    def _get(self, ids: Sequence[str]) -> Calls[list[Document]]:
        memory_ids = self._memory_ids(ids)
        memories: dict[UUID, Memory] = yield call("get_many", self._agent_id, memory_ids)
        return [_document(memory) for memory in memories.values()]

    def _delete(self, ids: Sequence[str] | None) -> Calls[bool]:
        yield call("delete", self._agent_id, self._memory_ids(ids))
        return True

    def _memory_ids(self, ids: Sequence[str] | None) -> list[UUID]:
        """Ids of the memories of documents with these ids: made from their keys, or their own."""
        texts = in_list(ids)
        if texts is None or not all(map(is_storable, texts)):
            raise InputError("the ids of documents must be a list of texts")
        owner = self._either.prefix + str(self._agent_id)
        candidates = [[id_of_key(owner, one), *_uuids(one)] for one in texts]
        return [memory_id for several in candidates for memory_id in several]

    def _scored(
        self, query: VectorLike | str, k: int, arguments: Mapping[str, Any]
    ) -> Calls[Scored]:
        named = _named(self._search, arguments)
        hits: list[ScoredMemory] = yield call("search", self._agent_id, query, k=k, **named)
        return [(_document(hit.memory), hit.score) for hit in hits]

    def _diverse(
        self,
        query: VectorLike | str,
        k: int,
        fetch_k: int,
        lambda_mult: float,
        arguments: Mapping[str, Any],
    ) -> Calls[list[Document]]:
        named = {"min_relevance": 0.0} | _named(self._search, arguments)
        context = yield call(
            "context",
            self._agent_id,
            query,
            k=k,
            fetch_k=max(k, fetch_k),
            diversity=min(1 - lambda_mult, MOST_DIVERSE),
            max_tokens=MAX_TOKENS,
            **named,
        )
        return [_document(packed.hit.memory) for packed in context.packed]


class RecallRetriever(BaseRetriever):
    """Finds an agent's memories by pgrecall's ranking.

    `invoke` takes all arguments but the repositories by name, too, such as k=3, and the other
    arguments of `repository.search`. The metadata of a document is the memory's, and under
    "pgrecall" its score with the parts.
    """

    model_config = {**BaseRetriever.model_config, "extra": "forbid"}  # noqa: RUF012  as pydantic has it

    repository: MemoryRepository | AsyncMemoryRepository
    async_repository: AsyncMemoryRepository | None = None
    """For asynchronous calls. Without it they run in a thread."""
    agent_id: str | UUID
    k: int = 4
    """How many memories to return."""
    profile: Profile | str | None = None
    """How to rank. None: as the repository does."""
    weights: Mapping[str, float] | None = None
    """Replaces the profile's weights."""
    as_of: datetime | None = None
    """The moment that the query is about."""
    teams: Sequence[str | UUID] = ()
    """Teams whose memories are ranked with the agent's."""
    filter: Mapping[str, Any] | None = None
    """LangChain's: its keys are those of metadata."""
    arguments: Mapping[str, Any] | None = None
    """Other arguments of `repository.search`, by name. A `filter` among them is pgrecall's; a
    memory must meet both."""

    @cached_property
    def _either(self) -> RepositoryPair:
        repositories = (self.repository, self.async_repository)
        return RepositoryPair((one for one in repositories if one is not None), type(self).__name__)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **arguments: Any
    ) -> list[Document]:
        return self._either.run(self._found(query, arguments))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **arguments: Any
    ) -> list[Document]:
        return await self._either.arun(self._found(query, arguments))

    def _found(self, query: str, arguments: Mapping[str, Any]) -> Calls[list[Document]]:
        own = {name: getattr(self, name) for name in _OF_SEARCH}
        named = _named({**own, **(self.arguments or {})}, {"filter": self.filter, **arguments})
        hits = yield call("search", named.pop("agent_id", self.agent_id), query, **named)
        return [_document(hit.memory, pgrecall=_score(hit)) for hit in hits]


_OF_SEARCH = ("k", "profile", "weights", "as_of", "teams")


def _named(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a search, of which theirs win. Both filters must be met."""
    both = (ours.get("filter"), on_metadata(theirs.get("filter")))
    given = [one for one in both if not (one is None or (isinstance(one, Mapping) and not one))]
    return {**ours, **theirs, "filter": {"$and": given} if given else None}


def _score(hit: ScoredMemory) -> dict[str, Any]:
    record = hit.record() | {"owner": hit.memory.owner_id}
    del record["content"]
    return record


def _document(memory: Memory, **metadata: Any) -> Document:
    return Document(
        id=memory.key or str(memory.id),
        page_content=memory.content,
        metadata=memory.metadata | metadata,
    )


def _documents(scored: Scored) -> list[Document]:
    return [document for document, _ in scored]


def _uuids(text: str) -> list[UUID]:
    try:
        return [UUID(text)]
    except ValueError:
        return []
