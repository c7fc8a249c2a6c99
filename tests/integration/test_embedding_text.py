"""Text that the repository's embedder turns into vectors."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, NullPool
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.core.embedders import AsyncEmbedder, Embedder, LocalEmbedder, model_name
from pgrecall.errors import EmbedderRequired, InputError, InvalidMemory, InvalidVector
from tests.integration.compass import AsyncCompass, BothCompass, Broken, Compass, Lossy, Short
from tests.integration.owner import Owner, north, plain
from tests.integration.support import at, contents


@pytest.fixture
def compass() -> Compass:
    return Compass()


@pytest.fixture
def mine(shared_engine: Engine, agent: str, compass: Compass) -> Owner:
    return Owner(shared_engine, agent, embedder=compass)


def test_text_goes_in_and_text_finds_it(mine: Owner, compass: Compass) -> None:
    ids = [mine.add("10"), *mine.add_many(["80", NewMemory("40")])]

    assert contents(mine.search("75")) == ["80", "40", "10"]
    assert (compass.documents, compass.queries) == ([["10"], ["80", "40"]], ["75"])
    memory = mine.get(ids[1], include_embedding=True)
    assert memory.embedding == pytest.approx(at(80), abs=1e-6)
    assert memory.embedding_model == "compass-1"


def test_only_what_has_no_embedding_is_embedded(mine: Owner, compass: Compass) -> None:
    named = NewMemory("50", embedding_model="mine")
    ids = mine.add_many([north("10"), "20", plain("30"), NewMemory("40"), named])

    found = [mine.get(memory_id, include_embedding=True) for memory_id in ids]
    assert compass.documents == [["20", "40", "50"]]
    models = [memory.embedding_model for memory in found]
    assert models == [None, "compass-1", None, "compass-1", "mine"]
    assert [memory.embedding is None for memory in found] == [False, False, True, False, False]


def test_new_content_is_embedded_anew_and_nothing_else(mine: Owner, compass: Compass) -> None:
    memory_id = mine.add(north("north", embedding_model="old"))
    mine.update(memory_id, importance=0.9)
    mine.update(memory_id, content="east", embedding=at(90))
    assert compass.documents == []

    changed = mine.update(memory_id, content="180")

    assert contents(mine.search("180", min_similarity=0.99)) == ["180"]
    assert changed.embedding_model == "compass-1"


def test_text_needs_an_embedder(shared_engine: Engine, agent: str) -> None:
    mine = Owner(shared_engine, agent)
    texts = ("text", NewMemory("text"), [north("a"), "text"], "text")
    uses = (mine.add, mine.add, mine.add_many, mine.search)
    for use, text in zip(uses, texts, strict=True):
        with pytest.raises(EmbedderRequired, match=r"embedder=.*or pass the vector itself"):
            use(text)
    assert mine.count() == 0


def test_an_embedder_that_does_wrong_is_found_out(shared_engine: Engine, agent: str) -> None:
    lossy, short, broken = (
        Owner(shared_engine, agent, embedder=made()) for made in (Lossy, Short, Broken)
    )
    of_other = r"3 dimensions.* 8"
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: lossy.add_many(["10", "20"]), InputError, "1 vectors for 2 texts"),
        (lambda: lossy.add("10"), InputError, "0 vectors for 1 texts"),
        (lambda: short.add("10"), InvalidVector, of_other),
        (lambda: short.add_many([plain("a"), "10"]), InvalidVector, f"memory 1 of 2.*{of_other}"),
        (lambda: short.search("10"), InvalidVector, of_other),
        (lambda: broken.add_many([north("a"), "10"]), ConnectionError, "no answer from the model"),
    ]
    for use, error, message in cases:
        with pytest.raises(error, match=message):
            use()
    assert lossy.count() == 0


def test_bad_input_is_found_before_anything_is_embedded(mine: Owner, compass: Compass) -> None:
    with pytest.raises(InvalidMemory, match="memory 1 of 2"):
        mine.add_many(["10", NewMemory("20", importance=7)])
    for query in ("", "  \n"):
        with pytest.raises(InputError, match="query is empty"):
            mine.search(query)

    assert (compass.documents, compass.queries) == ([], [])


def test_an_embedder_may_return_arrays(shared_engine: Engine, agent: str) -> None:
    class Arrays(Compass):
        def embed_documents(self, texts: list[str]) -> Any:
            return np.array(super().embed_documents(texts), dtype=np.float32)

        def embed_query(self, text: str) -> Any:
            return np.array(super().embed_query(text))

    mine = Owner(shared_engine, agent, embedder=Arrays())
    mine.add_many(["10", "80"])

    assert contents(mine.search("70")) == ["80", "10"]


@pytest.mark.parametrize("made", [AsyncCompass, BothCompass])
def test_asynchronous_methods_are_awaited(shared_url: str, agent: str, made: type[Any]) -> None:
    embedder = made()

    async def main() -> tuple[list[str], str | None]:
        engine = create_async_engine(shared_url, poolclass=NullPool)
        repo = AsyncMemoryRepository(engine, embedder=embedder)
        memory_id = await repo.add(agent, "10")
        await repo.add_many(agent, ["80"])
        memory = await repo.update(agent, memory_id, content="20")
        return contents(await repo.search(agent, "70")), memory.embedding_model

    assert asyncio.run(main()) == (["80", "20"], made.model)
    assert getattr(embedder, "documents", []) == []


def test_an_embedder_that_is_only_asynchronous_is_refused_by_the_synchronous_repository(
    shared_engine: Engine,
) -> None:
    with pytest.raises(InputError, match="AsyncCompass"):
        MemoryRepository(shared_engine, embedder=AsyncCompass())  # type: ignore[arg-type]


def test_an_embedder_is_told_by_its_methods() -> None:
    assert isinstance(Compass(), Embedder)
    assert not isinstance(Compass(), AsyncEmbedder)
    assert isinstance(AsyncCompass(), AsyncEmbedder)
    assert not isinstance(AsyncCompass(), Embedder)


@pytest.mark.parametrize(
    ("embedder", "name"),
    [(Compass(), "compass-1"), (object(), None), (type("Odd", (), {"model": 7})(), None)],
)
def test_the_models_name_is_read_where_there_is_one(embedder: object, name: str | None) -> None:
    assert model_name(embedder) == name


def test_the_local_embedder_makes_unit_vectors(local_embedder: LocalEmbedder) -> None:
    vectors = np.asarray(local_embedder.embed_documents(["one text", "another", "🙂"]))

    assert vectors.shape == (3, LocalEmbedder.dimensions)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_the_local_embedder_treats_a_query_as_a_document(local_embedder: LocalEmbedder) -> None:
    [document] = np.asarray(local_embedder.embed_documents(["one text"]))

    assert np.asarray(local_embedder.embed_query("one text")) == pytest.approx(document)


def test_the_local_embedder_may_be_shared_by_threads(local_embedder: LocalEmbedder) -> None:
    async def main() -> list[object]:
        calls = [asyncio.to_thread(local_embedder.embed_query, f"text {i}") for i in range(20)]
        return list(await asyncio.gather(*calls))

    together = np.asarray(asyncio.run(main()))

    assert together == pytest.approx(
        np.asarray([local_embedder.embed_query(f"text {i}") for i in range(20)]), abs=1e-6
    )
