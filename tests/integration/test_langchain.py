"""RecallVectorStore and RecallRetriever: LangChain's own tests of stores, and what is ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from langchain_core.documents import Document
from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, migrate, profiles
from pgrecall.errors import InputError, UnknownName
from pgrecall.langchain import RecallRetriever, RecallVectorStore
from pgrecall.testing import new_database
from tests.integration.conftest import empty
from tests.left.libraries import Bags

pytest.importorskip("langchain_tests")
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

A = "agent"


class Kind:
    """How a store is made, and how its methods are called."""

    def __init__(self, made: RecallVectorStore, wait: Callable[[Any], Any] | None) -> None:
        self.made, self._wait = made, wait

    def __getattr__(self, name: str) -> Any:
        if self._wait is None:
            return getattr(self.made, name)
        wait, method = self._wait, getattr(self.made, f"a{name}")
        return lambda *arguments, **named: wait(method(*arguments, **named))


@pytest.fixture
def repo(engine: Engine) -> MemoryRepository:
    return MemoryRepository(engine, embedder=Bags())


@pytest.fixture(params=["sync", "async"])
def store(
    request: pytest.FixtureRequest,
    repo: MemoryRepository,
    async_engine: AsyncEngine,
    loop: asyncio.Runner,
) -> Kind:
    if request.param == "sync":
        return Kind(RecallVectorStore(repo, agent_id=A), None)
    later = AsyncMemoryRepository(async_engine, embedder=Bags())
    return Kind(RecallVectorStore(later, agent_id=A), loop.run)


DOCUMENTS = [
    Document("green tea", metadata={"cups": 1}, id="1"),
    Document("tea and tea", metadata={"cups": 2}, id="2"),
    Document("tea with a cat", metadata={"cups": 3}, id="3"),
    Document("the train to paris", id="4"),
]


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


def test_documents_come_back_best_first_with_scores_that_a_filter_and_arguments_change(
    store: Kind, repo: MemoryRepository
) -> None:
    assert store.add_documents(DOCUMENTS) == ["1", "2", "3", "4"]
    hits = repo.search(A, "tea cat", k=2, touch=False)

    found = store.similarity_search_with_score("tea cat", k=2, touch=False)
    assert [document for document, _ in found] == [DOCUMENTS[2], DOCUMENTS[0]]
    assert [score for _, score in found] == pytest.approx([hit.score for hit in hits])
    again = store.similarity_search_with_relevance_scores("tea cat", k=2, touch=False)
    assert [score for _, score in again] == pytest.approx([score for _, score in found])
    [low] = store.similarity_search("tea cat", k=1, filter={"cups": {"$lt": 3}})
    assert low.id in ("1", "2")
    assert ids(store.similarity_search("paris", weights={"similarity": 1.0}, k=1)) == ["4"]
    assert ids(store.similarity_search_by_vector(Bags().embed_query("paris"), k=1)) == ["4"]
    assert {one.retrieval_count for one in repo.list(A)} == {0, 1, 2}


# as PGVectorStore has them, with the ids of the documents that pass
FILTERS: dict[str, tuple[Any, set[str]]] = {
    "nothing": ({}, {"1", "2", "3", "4"}),
    "a value": ({"cups": 2}, {"2"}),
    "$eq": ({"cups": {"$eq": 2}}, {"2"}),
    "$ne": ({"cups": {"$ne": 2}}, {"1", "3", "4"}),
    "$between": ({"cups": {"$between": [2, 3]}}, {"2", "3"}),
    "$in": ({"cups": {"$in": [1, 3]}}, {"1", "3"}),
    "$nin": ({"cups": {"$nin": [1, 3]}}, {"2", "4"}),
    "$exists": ({"cups": {"$exists": False}}, {"4"}),
    "$like": ({"kind": {"$like": "gre%"}}, {"1"}),
    "$ilike": ({"kind": {"$ilike": "GRE%"}}, {"1"}),
    "$and": ({"$and": [{"cups": {"$gt": 1}}, {"cups": {"$lt": 3}}]}, {"2"}),
    "$or": ({"$or": [{"cups": 1}, {"cups": {"$gte": 3}}]}, {"1", "3"}),
    "$not": ({"$not": {"cups": {"$lte": 2}}}, {"3", "4"}),
    "$not, a list": ({"$not": [{"cups": 1}, {"cups": 3}]}, {"2", "4"}),
    "nested groups": ({"$not": {"$or": [{"cups": 1}, {"kind": "black"}]}}, {"3", "4"}),
    "a key with a dot": ({"app.version": "4.19"}, {"3"}),
    "an object's key": ({"of": {"city": "Porto"}}, {"3"}),
    "a column's name": ({"memory_type": "episodic"}, set()),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_of_langchain_is_about_metadata(name: str, repo: MemoryRepository) -> None:
    store = RecallVectorStore(repo, agent_id=A, filter={"memory_type": "fact"})
    more: list[dict[str, Any]] = [
        {"kind": "green"},
        {"kind": "black"},
        {"app.version": "4.19", "of": {"city": "Porto", "n": 1}},
        {},
    ]
    for document, fields in zip(DOCUMENTS, more, strict=True):
        metadata = document.metadata | fields
        store.add_documents(
            [Document("tea", metadata=metadata, id=document.id)], memory_type="fact"
        )
    repo.add(A, "tea of another type", metadata={"cups": 2})

    given, expected = FILTERS[name]
    found = store.similarity_search("tea", k=9, filter=given)
    assert set(ids(found)) == expected


def test_texts_are_added_under_ids_of_their_own_and_replaced_under_given_ones(
    store: Kind, repo: MemoryRepository
) -> None:
    first, second = store.add_texts(["tea", "tea"], [{"n": 1}, {"n": 2}])
    assert [one.metadata for one in store.get_by_ids([second, "?", first])] == [{"n": 2}, {"n": 1}]
    store.add_texts(["cat", "dog"], ids=[first, "new"], importance=0.9)

    assert [one.page_content for one in store.get_by_ids([first, second])] == ["cat", "tea"]
    assert {one.importance for one in repo.list(A)} == {0.5, 0.9}
    plain = str(repo.add(A, "known by its text"))
    assert ids(store.get_by_ids([plain])) == [plain]
    assert store.delete([plain, first, "?"]) is True
    assert len(repo.list(A)) == 2


def test_marginal_relevance_prefers_what_is_unlike(store: Kind) -> None:
    store.add_documents(DOCUMENTS)
    vector = Bags().embed_query("tea")

    assert set(ids(store.max_marginal_relevance_search("tea", k=2, lambda_mult=1))) == {"1", "2"}
    for mixed in (
        store.max_marginal_relevance_search("tea", k=2, lambda_mult=0.3),
        store.max_marginal_relevance_search_by_vector(vector, k=2, lambda_mult=0),
    ):
        assert len(mixed) == 2
        assert ids(mixed) not in (["1", "2"], ["2", "1"])
    three = store.max_marginal_relevance_search("tea", k=3, fetch_k=3, lambda_mult=0)
    assert set(ids(three)) == {"1", "2", "3"}
    filtered = store.max_marginal_relevance_search("tea", filter={"cups": 2})
    assert ids(filtered) == ["2"]


def test_a_store_is_made_from_texts(
    engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner
) -> None:
    made = RecallVectorStore.from_texts(["tea", "cat"], Bags(), bind=engine, agent_id=A)
    assert made.embeddings is not None
    assert [one.page_content for one in made.similarity_search("cat", k=1)] == ["cat"]
    making = RecallVectorStore.afrom_texts(
        ["dog"], Bags(), [{"n": 1}], ids=["x"], bind=async_engine, agent_id=A, profile="five_factor"
    )
    assert loop.run(loop.run(making).asimilarity_search("dog", k=1)) == [
        Document("dog", metadata={"n": 1}, id="x")
    ]


def test_a_retriever_takes_profile_weights_time_and_teams(repo: MemoryRepository) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    repo.add(A, NewMemory("tea", created_at=long_ago, metadata={"n": 1}))
    repo.add(A, NewMemory("tea and cat", importance=0.9))
    repo.teams.add("team", "a cat of the team")
    make: Any = RecallRetriever

    def found(**arguments: Any) -> list[str]:
        documents = make(repository=repo, agent_id=A, **arguments).invoke("cat")
        return [document.page_content for document in documents]

    assert found(k=1) == ["tea and cat"]
    assert found(k=1, weights={"recency": 1.0}, profile="five_factor") == ["tea and cat"]
    assert found(as_of=datetime(2021, 1, 1, tzinfo=UTC)) == ["tea"]
    assert found(teams=["team"], k=1) == ["a cat of the team"]
    assert found(filter={"n": 1}) == found(arguments={"filter": {"metadata.n": 1}}) == ["tea"]
    assert len(found(profile=profiles.five_factor)) == 2
    with pytest.raises(ValueError, match="profil"):
        found(profil="five_factor")
    [document] = make(repository=repo, agent_id=A).invoke("cat", k=1, touch=False)
    assert document.metadata["pgrecall"].keys() >= {"score", "contributions", "owner", "created_at"}


BAD: dict[str, tuple[Callable[[RecallVectorStore], Any], type[Exception], str]] = {
    "fewer metadatas": (lambda s: s.add_texts(["a", "b"], [{}]), InputError, "metadatas has 1"),
    "fewer ids": (lambda s: s.add_texts(["a", "b"], ids=["x"]), InputError, "ids has 1"),
    "no ids": (lambda s: s.delete(), InputError, "list of texts"),
    "an id that cannot be stored": (
        lambda s: s.get_by_ids(["a\ud800"]),
        InputError,
        "list of texts",
    ),
    "one id": (lambda s: s.get_by_ids("abc"), InputError, "list of texts"),
    "no engine": (lambda s: s.from_texts(["a"], Bags()), InputError, "needs bind"),
    "misspelt": (lambda s: s.similarity_search("a", profil="x"), UnknownName, "profil"),
    "unknown field": (lambda s: s.add_texts(["a"], importanc=1), UnknownName, "mean importance"),
    "unknown operator": (
        lambda s: s.similarity_search("a", filter={"a": {"$near": 1}}),
        UnknownName,
        "near",
    ),
    "unknown group": (
        lambda s: s.similarity_search("a", filter={"$xor": [{"a": 1}]}),
        UnknownName,
        "it takes .and, .or, .not",
    ),
    "a list as a filter": (
        lambda s: s.similarity_search("a", filter=[{"a": 1}]),
        InputError,
        r"takes mappings, got list \[{'a': 1}\]",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_named(name: str, repo: MemoryRepository) -> None:
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call(RecallVectorStore(repo, agent_id=A))
    assert repo.owners() == []


# The standard tests that LangChain has for vector stores and retrievers

EMBEDDINGS = VectorStoreIntegrationTests.get_embeddings()


@pytest.fixture(scope="module")
def url(server_url: str) -> Iterator[str]:
    """A database for vectors of the length that these tests have."""
    with new_database(server_url) as made:
        migrate.upgrade(made, dimensions=6)
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
