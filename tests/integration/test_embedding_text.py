from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, NullPool
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.errors import EmbedderRequired, InputError, InvalidMemory, InvalidVector
from tests.integration.compass import AsyncCompass, BothCompass, Broken, Compass, Lossy, Short
from tests.integration.conftest import RepositoryOf
from tests.integration.support import NORTH, at, contents, stored


@pytest.fixture
def compass() -> Compass:
    return Compass()


@pytest.fixture
def embedding(repository_of: RepositoryOf, database_url: str, compass: Compass) -> MemoryRepository:
    return repository_of(database_url, embedder=compass)


def test_text_goes_in_and_text_finds_it(embedding: MemoryRepository) -> None:
    embedding.add("agent", "10")
    embedding.add_many("agent", ["80", NewMemory("40")])

    assert contents(embedding.search("agent", "75")) == ["80", "40", "10"]


def test_the_embedding_and_its_model_are_stored(embedding: MemoryRepository) -> None:
    [memory_id] = embedding.add_many("agent", ["30"])

    memory = embedding.get("agent", memory_id, include_embedding=True)

    assert memory is not None
    assert memory.embedding == pytest.approx(at(30), abs=1e-6)
    assert memory.embedding_model == "compass-1"


def test_a_batch_is_embedded_in_one_call(embedding: MemoryRepository, compass: Compass) -> None:
    embedding.add_many("agent", ["10", "20", "30"])

    assert compass.documents == [["10", "20", "30"]]


def test_only_what_has_no_embedding_is_embedded(
    embedding: MemoryRepository, compass: Compass
) -> None:
    ids = embedding.add_many(
        "agent",
        [NewMemory("10", embedding=NORTH), "20", NewMemory("30", embedding=None), NewMemory("40")],
    )

    found = [embedding.get("agent", memory_id, include_embedding=True) for memory_id in ids]
    assert compass.documents == [["20", "40"]]
    assert [memory.embedding_model for memory in found if memory] == [
        None,
        "compass-1",
        None,
        "compass-1",
    ]
    assert [memory.embedding is None for memory in found if memory] == [False, False, True, False]


def test_the_callers_name_of_the_model_is_kept(embedding: MemoryRepository) -> None:
    memory_id = embedding.add("agent", NewMemory("30", embedding_model="mine"))

    memory = embedding.get("agent", memory_id)

    assert memory is not None
    assert memory.embedding_model == "mine"


def test_a_query_is_embedded_as_a_query(embedding: MemoryRepository, compass: Compass) -> None:
    embedding.search("agent", "30")

    assert (compass.documents, compass.queries) == ([], ["30"])


def test_new_content_is_embedded_anew(embedding: MemoryRepository) -> None:
    memory_id = embedding.add("agent", NewMemory("north", embedding=NORTH, embedding_model="old"))

    changed = embedding.update("agent", memory_id, content="90")

    [hit] = embedding.search("agent", "90", min_similarity=0.99)
    assert hit.memory.content == "90"
    assert changed.embedding_model == "compass-1"


def test_other_changes_are_not_embedded(embedding: MemoryRepository, compass: Compass) -> None:
    memory_id = embedding.add("agent", NewMemory("north", embedding=NORTH))

    embedding.update("agent", memory_id, importance=0.9)
    embedding.update("agent", memory_id, content="east", embedding=at(90))

    assert compass.documents == []


@pytest.mark.parametrize(
    "use",
    [
        lambda repo: repo.add("agent", "text"),
        lambda repo: repo.add("agent", NewMemory("text")),
        lambda repo: repo.add_many("agent", [NewMemory("a", embedding=NORTH), "text"]),
        lambda repo: repo.search("agent", "text"),
    ],
)
def test_text_needs_an_embedder(
    either: MemoryRepository, engine: Engine, use: Callable[[MemoryRepository], Any]
) -> None:
    with pytest.raises(EmbedderRequired, match=r"embedder=.*or pass the embedding itself"):
        use(either)

    assert stored(engine, "agent") == 0


def test_an_embedder_that_loses_a_text_is_found_out(
    repository_of: RepositoryOf, database_url: str, engine: Engine
) -> None:
    repo = repository_of(database_url, embedder=Lossy())

    with pytest.raises(InputError, match="1 vectors for 2 texts"):
        repo.add_many("agent", ["10", "20"])
    with pytest.raises(InputError, match="0 vectors for 1 texts"):
        repo.add("agent", "10")

    assert stored(engine, "agent") == 0


def test_an_embedder_of_other_dimensions_is_found_out(
    repository_of: RepositoryOf, database_url: str, engine: Engine
) -> None:
    repo = repository_of(database_url, embedder=Short())

    with pytest.raises(InvalidVector, match=r"3 dimensions.* 8"):
        repo.add("agent", "10")
    with pytest.raises(InvalidVector, match=r"memory 1 of 2.*3 dimensions.* 8"):
        repo.add_many("agent", [NewMemory("a", embedding=None), "10"])
    with pytest.raises(InvalidVector, match=r"3 dimensions.* 8"):
        repo.search("agent", "10")

    assert stored(engine, "agent") == 0


def test_an_embedders_own_error_comes_through(
    repository_of: RepositoryOf, database_url: str, engine: Engine
) -> None:
    repo = repository_of(database_url, embedder=Broken())

    with pytest.raises(ConnectionError, match="no answer from the model"):
        repo.add_many("agent", [NewMemory("a", embedding=NORTH), "10"])

    assert stored(engine, "agent") == 0


def test_bad_fields_are_found_before_anything_is_embedded(
    embedding: MemoryRepository, compass: Compass
) -> None:
    with pytest.raises(InvalidMemory, match="memory 1 of 2"):
        embedding.add_many("agent", ["10", NewMemory("20", importance=7)])

    assert compass.documents == []


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_text_is_refused(embedding: MemoryRepository, query: str) -> None:
    with pytest.raises(InputError, match="query is empty"):
        embedding.search("agent", query)


def test_an_embedder_may_return_arrays(repository_of: RepositoryOf, database_url: str) -> None:
    class Arrays(Compass):
        def embed_documents(self, texts: list[str]) -> Any:
            return np.array(super().embed_documents(texts), dtype=np.float32)

        def embed_query(self, text: str) -> Any:
            return np.array(super().embed_query(text))

    repo = repository_of(database_url, embedder=Arrays())
    repo.add_many("agent", ["10", "80"])

    assert contents(repo.search("agent", "70")) == ["80", "10"]


@pytest.mark.parametrize("made", [AsyncCompass, BothCompass])
def test_asynchronous_methods_are_awaited(database_url: str, made: type[Any]) -> None:
    async def main() -> tuple[list[str], str | None]:
        engine = create_async_engine(database_url, poolclass=NullPool)
        repo = AsyncMemoryRepository(engine, embedder=embedder)
        memory_id = await repo.add("agent", "10")
        await repo.add_many("agent", ["80"])
        await repo.update("agent", memory_id, content="20")
        memory = await repo.get("agent", memory_id)
        assert memory is not None
        return contents(await repo.search("agent", "70")), memory.embedding_model

    embedder = made()

    assert asyncio.run(main()) == (["80", "20"], made.model)
    assert getattr(embedder, "documents", []) == []


def test_an_embedder_that_is_only_asynchronous_is_refused_by_the_synchronous_repository(
    engine: Engine,
) -> None:
    with pytest.raises(InputError, match="AsyncCompass"):
        MemoryRepository(engine, embedder=AsyncCompass()).add("agent", "10")  # type: ignore[arg-type]
