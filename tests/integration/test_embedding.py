"""Text that the repository's embedder turns into vectors, all of them by one model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import Engine, NullPool, create_engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, migrate
from pgrecall.core.embedders import AsyncEmbedder, Embedder
from pgrecall.errors import (
    EmbedderMismatch,
    EmbedderRequired,
    InputError,
    InvalidMemory,
    InvalidVector,
    SchemaMissing,
)
from tests.integration.compass import AsyncCompass, BothCompass, Broken, Compass, Lossy, Short
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, at, contents


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

    assert contents(mine.search("180", filter={"similarity": {"$gte": 0.99}})) == ["180"]
    assert changed.embedding_model == "compass-1"


def test_text_needs_an_embedder(shared_engine: Engine, agent: str) -> None:
    mine = Owner(shared_engine, agent)
    texts = ("text", NewMemory("text"), [north("a"), "text"], "text")
    uses = (mine.add, mine.add, mine.add_many, mine.search)
    for use, given in zip(uses, texts, strict=True):
        with pytest.raises(EmbedderRequired, match=r"embedder=.*or pass the vector itself"):
            use(given)
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


def test_an_embedder_is_told_by_its_methods(shared_engine: Engine) -> None:
    with pytest.raises(InputError, match="AsyncCompass"):
        MemoryRepository(shared_engine, embedder=AsyncCompass())  # type: ignore[arg-type]
    assert isinstance(Compass(), Embedder)
    assert isinstance(AsyncCompass(), AsyncEmbedder)
    assert not isinstance(AsyncCompass(), Embedder)


# The model

OTHER = r"schema 'pgrecall' holds embeddings of 'compass-1', and this embedder is 'other'"


class Other(Compass):
    model = "other"


class Nameless(Compass):
    model = None  # type: ignore[assignment]


def recorded(url: str) -> str | None:
    return migrate.status(url).embedding_model


def fresh(url: str, embedder: Any) -> MemoryRepository:
    """As in another process, which has no cached layout."""
    return MemoryRepository(create_engine(url, poolclass=NullPool), embedder=embedder)


def test_the_first_embedder_is_recorded_and_another_refused(
    engine: Engine, database_url: str
) -> None:
    other = MemoryRepository(engine, embedder=Other())
    assert other.search("a", "10") == []
    assert recorded(database_url) is None, "a query compares nothing yet"
    MemoryRepository(engine, embedder=Compass()).add("a", "10")
    assert recorded(database_url) == "compass-1"

    for refused in (other, fresh(database_url, Other())):
        with pytest.raises(EmbedderMismatch, match=OTHER):
            refused.add("a", "20")
        with pytest.raises(EmbedderMismatch, match=OTHER):
            refused.add_many("a", ["30", NewMemory("40", embedding=NORTH)])
        with pytest.raises(EmbedderMismatch, match=OTHER):
            refused.search("a", "10")
    assert contents(refused.search("a", NORTH, touch=False)) == ["10"], "a vector needs no embedder"
    assert contents(fresh(database_url, Nameless()).search("a", "10")) == ["10"]


def test_a_transaction_that_is_rolled_back_records_nothing(
    engine: Engine, database_url: str
) -> None:
    with engine.connect() as connection:
        mine = MemoryRepository(connection, embedder=Other())
        mine.add("a", "10")
        mine.add("a", "20")
        with pytest.raises(EmbedderMismatch):
            MemoryRepository(connection, embedder=Compass()).add("a", "10")
        connection.rollback()

    MemoryRepository(engine, embedder=Compass()).add("a", "30")
    assert recorded(database_url) == "compass-1"


def test_nobody_waits_for_a_transaction_that_records(engine: Engine, database_url: str) -> None:
    with engine.connect() as connection:
        connection.execute(text("SELECT pgrecall.claim_embedding_model('compass-1')"))
        hurried = create_engine(
            database_url, connect_args={"options": "-c lock_timeout=5s"}, poolclass=NullPool
        )
        MemoryRepository(hurried, embedder=Compass()).add("a", "10")
        connection.commit()

    assert recorded(database_url) == "compass-1"


def test_two_that_are_first_at_once_are_told_apart(engine: Engine, database_url: str) -> None:
    late = MemoryRepository(engine, embedder=Other())
    late.count("a")  # it has cached that no model is recorded
    fresh(database_url, Compass()).add("a", "10")

    with pytest.raises(EmbedderMismatch, match=OTHER):
        late.add("a", "20")
    assert late.count("a") == 1


def test_a_model_with_a_new_name(engine: Engine, database_url: str) -> None:
    MemoryRepository(engine, embedder=Compass()).add("a", "10")

    migrate.change_embedding_model(database_url, "other")

    assert contents(fresh(database_url, Other()).search("a", "10")) == ["10"]
    for name in ("", "x" * 201, 7):
        with pytest.raises(InputError, match="model"):
            migrate.change_embedding_model(database_url, name)  # type: ignore[arg-type]
    with pytest.raises(SchemaMissing):
        migrate.change_embedding_model(database_url, "other", schema="nowhere")
