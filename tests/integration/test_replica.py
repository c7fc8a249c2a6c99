"""Repositories that read from a replica, which streams from its primary."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine, event
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, migrate
from pgrecall.errors import DatabaseReadOnly, DatabaseUnavailable, InputError, MigrationFailed
from pgrecall.migrate.connecting import database_url
from tests.calls import GOOD, READING
from tests.integration.conftest import empty
from tests.integration.replicas import replicated
from tests.integration.support import NORTH, awaited, contents, read
from tests.integration.test_both_repositories import (
    CASES,
    A,
    Case,
    Embeds,
    EmbedsLater,
    check,
    furnish,
    number,
)
from tests.methods import NOWHERE, NOWHERE_LATER, method


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with replicated(tmp_path_factory.mktemp("replicated")) as found:
        yield found


@pytest.fixture(scope="module")
def primary(urls: tuple[str, str]) -> Iterator[Engine]:
    made = create_engine(database_url(urls[0]))
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def replica(urls: tuple[str, str]) -> Iterator[Engine]:
    made = create_engine(database_url(urls[1]))
    yield made
    made.dispose()


Asked = Counter[str]


@pytest.fixture(scope="module")
def asked(primary: Engine, replica: Engine) -> Asked:
    """How often each server has been asked."""
    counted: Asked = Counter()
    for name, engine in (("primary", primary), ("replica", replica)):
        event.listen(engine, "checkout", lambda *_, name=name: counted.update([name]))
    return counted


@pytest.fixture(scope="module")
def emptying(urls: tuple[str, str]) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(urls[0], autocommit=True) as connection:
        yield connection


@pytest.fixture
def both(
    primary: Engine, replica: Engine, emptying: psycopg.Connection[Any]
) -> Iterator[MemoryRepository]:
    """A repository that reads what the replica has, which here is always all."""
    # With caches of their own.
    one, other = primary.execution_options(), replica.execution_options()
    repo = MemoryRepository(one, reads_from=other, embedder=Embeds())
    furnish(repo)
    yield repo
    empty(emptying)


@pytest.fixture
def lagging(urls: tuple[str, str], both: MemoryRepository) -> Iterator[None]:
    """Lets the replica apply nothing of what a test writes."""
    with psycopg.connect(urls[1], autocommit=True) as connection:
        connection.execute("SELECT pg_wal_replay_pause()")
        yield
        connection.execute("SELECT pg_wal_replay_resume()")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_operation_does_the_same_and_what_only_reads_asks_the_replica_alone(
    both: MemoryRepository, asked: Asked, case: Case
) -> None:
    asked.clear()

    check(both, case)

    if case.name in GOOD:
        counting = {"primary"} if case.name in ("search", "search_many", "context") else set()
        assert {*asked} == ({"replica"} if case.name in READING else {"primary"}) | counting


def repository(kind: str, urls: tuple[str, str], loop: asyncio.Runner) -> MemoryRepository:
    """One that does not wait for the replica when it writes."""
    unhurried = {"options": "-c synchronous_commit=local"}
    primary, replica = database_url(urls[0]).update_query_dict(unhurried), database_url(urls[1])
    if kind == "sync":
        return MemoryRepository(
            create_engine(primary, poolclass=NullPool),
            reads_from=create_engine(replica, poolclass=NullPool),
            embedder=Embeds(),
        )
    later = AsyncMemoryRepository(
        create_async_engine(primary, poolclass=NullPool),
        reads_from=create_async_engine(replica, poolclass=NullPool),
        embedder=EmbedsLater(),
    )
    return awaited(later, loop.run)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_search_reads_on_the_replica_and_counts_on_the_primary(
    urls: tuple[str, str], lagging: None, loop: asyncio.Runner, kind: str
) -> None:
    repo = repository(kind, urls, loop)
    news = repo.add(A, NewMemory("news 9", embedding=NORTH))

    found = contents(repo.search(A, "memory 3", k=1))
    packed = [one.hit.memory.content for one in repo.context(A, "memory 3", k=1).packed]
    linked = contents(repo.search(A, "memory 1", k=1, linked=1))
    turns = contents(repo.teams.search(A, "memory 3"))

    assert (found, packed, linked, turns) == (
        ["memory 3"],
        ["memory 3"],
        ["memory 1", "memory 2"],
        [],
    )
    counts = [read(repo.primary, A, number(n)).retrieval_count for n in range(4)]
    assert counts == [0, 2, 1, 2]  # with that of the outcome
    assert read(repo, A, number(3)).retrieval_count == 0
    assert repo.get(A, news) is None
    assert contents(repo.search(A, "news 9", k=1)) != ["news 9"]
    assert contents(repo.primary.search(A, "news 9", k=1)) == ["news 9"]


def test_who_does_not_count_needs_no_primary(both: MemoryRepository, replica: Engine) -> None:
    alone = MemoryRepository(NOWHERE._bind, reads_from=replica, embedder=Embeds())

    assert contents(alone.search(A, "memory 3", k=1, touch=False)) == ["memory 3"]
    with pytest.raises(DatabaseUnavailable):
        alone.search(A, NORTH)


def test_a_replica_refuses_what_writes_and_says_what_helps(
    both: MemoryRepository, replica: Engine
) -> None:
    for name in ("search", "add", "add_many"):
        with pytest.raises(DatabaseReadOnly, match=r"primary.*reads_from.*touch=False"):
            method(MemoryRepository(replica), name)(A, **GOOD[name])


def test_a_transaction_has_no_replica(primary: Engine, replica: Engine) -> None:
    with primary.connect() as connection, pytest.raises(InputError, match="reads_from takes"):
        MemoryRepository(connection, reads_from=replica)
    with pytest.raises(InputError, match="reads_from takes"):
        AsyncMemoryRepository(NOWHERE_LATER._bind, reads_from=replica)  # type: ignore[arg-type]


def test_it_is_not_migrated(replica: Engine) -> None:
    with pytest.raises(MigrationFailed, match=r"read-only standby.*primary"):
        migrate.upgrade(replica)
