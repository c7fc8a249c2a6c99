"""The standard tests that LangChain has for vector stores and retrievers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import NullPool, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, migrate
from pgrecall.langchain import RecallRetriever, RecallVectorStore
from pgrecall.testing import new_database
from tests.integration.conftest import empty

pytest.importorskip("langchain_tests")
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

DIMENSIONS = 6
EMBEDDINGS = VectorStoreIntegrationTests.get_embeddings()


@pytest.fixture(scope="module")
def url(server_url: str) -> Iterator[str]:
    """A database for vectors of the length that these tests have."""
    with new_database(server_url) as made:
        migrate.upgrade(made, dimensions=DIMENSIONS)
        yield made


@pytest.fixture
def repositories(url: str) -> Iterator[list[Any]]:
    """One of each kind; they connect for each call, since each test has a loop of its own."""
    engine = create_engine(url, poolclass=NullPool)
    later = create_async_engine(url, poolclass=NullPool)
    yield [
        MemoryRepository(engine, embedder=EMBEDDINGS),
        AsyncMemoryRepository(later, embedder=EMBEDDINGS),
    ]
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        empty(connection)


class TestBoth(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, repositories: list[Any]) -> RecallVectorStore:
        return RecallVectorStore(*repositories, agent_id="agent")


class TestInThreads(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, repositories: list[Any]) -> RecallVectorStore:
        return RecallVectorStore(repositories[0], agent_id="agent")


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def memories(self, repositories: list[Any]) -> None:
        repositories[0].add_many("agent", ["tea", "coffee", "a cat", "a dog"])
        self.repositories = repositories

    @property
    def retriever_constructor(self) -> type[RecallRetriever]:
        return RecallRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        own, later = self.repositories
        return {"repository": own, "async_repository": later, "agent_id": "agent"}

    @property
    def retriever_query_example(self) -> str:
        return "what does she drink?"
