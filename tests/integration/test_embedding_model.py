"""One model makes the embeddings of a schema, and embedders of another are refused."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from sqlalchemy import Engine, NullPool, create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, migrate
from pgrecall.errors import EmbedderMismatch, InputError, InvalidVector, SchemaMissing
from tests.integration.compass import Compass, Short
from tests.integration.rank_indexes import new_role
from tests.integration.support import NORTH, contents
from tests.integration.test_roles import engine_as

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


def test_a_call_costs_nothing_more_once_the_layout_is_cached(
    engine: Engine, database_url: str
) -> None:
    repo = MemoryRepository(engine, embedder=Compass())
    repo.add("a", "10")
    sent: list[str] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    repo.add("a", "20")
    repo.search("a", "20", touch=False)

    reads = ("claim_embedding_model(", "pgrecall.embedding_model")
    assert len(sent) >= 2
    assert [one for one in sent if any(read in one for read in reads)] == []


def test_what_cannot_be_stored_records_nothing(engine: Engine, database_url: str) -> None:
    with pytest.raises(InvalidVector):
        MemoryRepository(engine, embedder=Short()).add("a", "10")

    assert recorded(database_url) is None


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


def test_an_asynchronous_repository_too(engine: Engine, database_url: str) -> None:
    MemoryRepository(engine, embedder=Compass()).add("a", "10")
    later = create_async_engine(database_url, poolclass=NullPool)

    with pytest.raises(EmbedderMismatch, match=OTHER):
        asyncio.run(AsyncMemoryRepository(later, embedder=Other()).add("a", "20"))


@pytest.mark.parametrize("level", ["reader", "writer"])
def test_an_upgrade_with_memories_and_roles(
    engine: Engine, database_url: str, level: Literal["reader", "writer"]
) -> None:
    """Roles may use the table that was not there when they were granted access."""
    MemoryRepository(engine).add("a", NewMemory("10", embedding=NORTH))
    with new_role(database_url, level) as name:
        migrate.grant(database_url, name, level)
        migrate.downgrade(database_url, revision="0001")

        assert migrate.upgrade(database_url).pending == []

        repo = MemoryRepository(engine_as(database_url, name), embedder=Compass())
        assert contents(repo.search("a", "10", touch=False)) == ["10"]
        if level == "writer":
            repo.add("a", "20")
    assert recorded(database_url) == ("compass-1" if level == "writer" else None)
