"""How a search reaches the server: round trips, cached plans, and who else is listening."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.errors import InputError
from pgrecall.ranking.owner_facts import LARGE_OWNER
from tests.integration.support import at, contents, sql

QUERY = at(0)
MANY = """
INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding, created_at)
SELECT :agent, gen_random_uuid(), 'memory ' || n, ARRAY[cos(n), sin(n), 0, 0, 0, 0, 0, 0]::vector,
       now() - make_interval(mins => n)
  FROM generate_series(1, :rows) n
"""
CACHED = (
    "SELECT max(generic_plans) FROM pg_prepared_statements WHERE statement ~ '^.. pgrecall search'"
)
SEARCHES: dict[str, dict[str, Any]] = {
    "hybrid": {"keywords": "north"},
    "five_factor": {"profile": "five_factor"},
    "without touch": {"touch": False},
    "filters and floors": {
        "min_score": 0.1,
        "min_relevance": 0.01,
        "filter": {"tags": "a", "decayed_trust": {"$gte": 0}},
    },
    "teams": {"teams": ["crew"]},
}


@pytest.fixture
def memories(engine: Engine) -> Iterator[Engine]:
    """An engine that nobody listens to, with an agent's memories and a team's, some used."""
    engine = create_engine(engine.url, pool_size=1, max_overflow=0)
    repo = MemoryRepository(engine)
    for number, content in enumerate(("north", "north east", "south")):
        repo.add("agent", NewMemory(content, embedding=at(40 * number), tags=["a"], trust=0.5))
    repo.teams.add("crew", NewMemory("north too", embedding=at(10), tags=["a"], trust=0.5))
    repo.touch("agent", [hit.memory.id for hit in repo.search("agent", QUERY, k=1, touch=False)])
    yield engine
    engine.dispose()


def round_trips(connection: psycopg.Connection[Any], work: Callable[[], object]) -> int:
    """How often the client waited for the server, by libpq's own trace."""
    with tempfile.TemporaryFile() as file:
        connection.pgconn.trace(file.fileno())
        work()
        connection.pgconn.untrace()
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        lines = file.read().decode().splitlines()
    return sum(
        line.split("\t")[1:4:2] == ["F", "Sync"] or ("\tF\t" in line and "Query" in line)
        for line in lines
    )


def pooled(engine: Engine) -> psycopg.Connection[Any]:
    """The only connection of the engine's pool."""
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        return driver


CACHED_AFTER = 7
"""Searches until the plan is cached: one that is not prepared, five that are planned each time, and
the one that caches it."""


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_and_its_touch_take_one_round_trip(memories: Engine, name: str) -> None:
    repo = MemoryRepository(memories)
    search = partial(repo.search, "agent", QUERY, **SEARCHES[name])
    for _ in range(CACHED_AFTER):
        search()

    assert round_trips(pooled(memories), search) == 1
    used = sql(memories, "SELECT retrieval_count FROM pgrecall.memory_usage ORDER BY 1 DESC")
    expected = 1 if name == "without touch" else CACHED_AFTER + 2
    assert used[0] == (expected,)


@pytest.mark.parametrize("name", SEARCHES)
def test_hits_are_the_same_whoever_executes_the_statement(memories: Engine, name: str) -> None:
    """psycopg alone; SQLAlchemy, for somebody who listens; and in a caller's transaction."""
    arguments = SEARCHES[name] | {"touch": False, "as_of": sql(memories, "SELECT now()")[0][0]}
    repo = MemoryRepository(memories)
    found = [repo.search("agent", QUERY, **arguments) for _ in range(2)]
    with memories.begin() as connection:
        theirs = MemoryRepository(connection)
        found += [theirs.search("agent", QUERY, **arguments) for _ in range(2)]
    statements: list[str] = []
    event.listen(memories, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
    found.append(repo.search("agent", QUERY, **arguments))

    assert len(statements) == 1
    assert all(hits == found[0] for hits in found)
    assert found[0]


def test_a_caller_who_begins_transactions_with_something_gets_them(memories: Engine) -> None:
    """As row-level security may need, where the owner is set for each transaction."""

    def name_owner(connection: Connection) -> None:
        connection.exec_driver_sql("SELECT set_config('test.owner', 'agent', true)")

    event.listen(memories, "begin", name_owner)
    named = text("current_setting('test.owner', true) = 'agent'")

    assert MemoryRepository(memories).search("agent", QUERY, filter=named)


def test_a_callers_transaction_has_the_touch(memories: Engine) -> None:
    """Even where a search is the first statement on the caller's connection."""
    counted = "SELECT sum(retrieval_count) FROM pgrecall.memory_usage"
    with memories.connect() as connection:
        repo = MemoryRepository(connection)
        for _ in range(3):
            repo.search("agent", QUERY)
            connection.rollback()
            repo.search("agent", QUERY)
            connection.commit()

    assert sql(memories, counted) == [(1 + 3 * 3,)]


def test_plans_of_small_agents_are_cached(memories: Engine) -> None:
    repo = MemoryRepository(memories)
    for _ in range(CACHED_AFTER + 1):
        repo.search("agent", QUERY, profile="five_factor")

    assert sql(memories, CACHED)[0][0] >= 2


def test_searches_of_a_large_agent_are_planned_for_it(own_engine: Engine) -> None:
    sql(own_engine, MANY, agent="large", rows=LARGE_OWNER + 1)
    sql(own_engine, MANY, agent="other", rows=LARGE_OWNER)
    sql(own_engine, "ANALYZE pgrecall.agent_memories")
    free = ["min_parallel_table_scan_size=0", "parallel_setup_cost=0", "parallel_tuple_cost=0"]
    options = {"options": " ".join(f"-c {setting}" for setting in free)}
    cheap = create_engine(own_engine.url, connect_args=options)

    plan = MemoryRepository(cheap).plan("large", QUERY, profile="five_factor")

    cheap.dispose()
    assert "Parallel" in plan.plan
    repo = MemoryRepository(own_engine)
    for _ in range(CACHED_AFTER + 1):
        repo.search("large", QUERY, profile="five_factor")
    named = "SELECT count(*) FROM pg_prepared_statements WHERE statement ~ '^.. pgrecall search'"
    assert sql(own_engine, named) == [(0,)]
    assert sql(own_engine, "SELECT sum(retrieval_count) FROM pgrecall.memory_usage") == [(80,)]
    for _ in range(CACHED_AFTER + 1):
        repo.search("other", QUERY, k=3, profile="five_factor", touch=False)
    assert sql(own_engine, CACHED)[0][0] >= 2


def test_only_touches_may_be_lost(own_engine: Engine) -> None:
    """And only those of the repository's own transactions."""
    sql(
        own_engine,
        """
        CREATE TABLE public.commits (how text);
        CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO public.commits VALUES (current_setting('synchronous_commit'));
            RETURN NULL;
        END $$;
        CREATE TRIGGER note AFTER INSERT OR UPDATE ON pgrecall.memory_usage
            FOR EACH ROW EXECUTE FUNCTION public.note();
        """,
    )

    def noted() -> list[str]:
        return [how for (how,) in sql(own_engine, "DELETE FROM public.commits RETURNING how")]

    durable = {"options": "-c synchronous_commit=on"}
    engine = create_engine(own_engine.url, connect_args=durable)
    repo = MemoryRepository(engine, durable_touch=False)
    memory_id = repo.add("agent", NewMemory("north", embedding=QUERY))
    for _ in range(2):
        repo.search("agent", QUERY)
    repo.context("agent", QUERY)
    repo.touch("agent", memory_id)
    assert noted() == ["off"] * 4

    repo.record_outcome("agent", memory_id, "success")
    MemoryRepository(engine).search("agent", QUERY)
    with engine.begin() as connection:
        MemoryRepository(connection, durable_touch=False).search("agent", QUERY)
    assert noted() == ["on"] * 3
    with pytest.raises(InputError, match="durable_touch must be True or False"):
        MemoryRepository(engine, durable_touch=1)  # type: ignore[arg-type]
    engine.dispose()


def test_asynchronous_searches_take_the_same_way(memories: Engine) -> None:
    expected = contents(MemoryRepository(memories).search("agent", QUERY, touch=False))

    async def work() -> None:
        engine = create_async_engine(memories.url, pool_size=1, max_overflow=0)
        repo = AsyncMemoryRepository(engine)
        for _ in range(CACHED_AFTER + 3):
            assert contents(await repo.search("agent", QUERY)) == expected
        async with engine.connect() as connection:
            rows = await connection.exec_driver_sql(
                "SELECT sum(generic_plans) FROM pg_prepared_statements WHERE statement ~ 'touch'"
            )
            assert rows.scalar_one() >= 4
        await engine.dispose()

    asyncio.run(work())
