"""What the tests of rank indexes share.

A build is held where it has made its graph, by its own client; or at its very end, where it has
every lock that it ever takes: there another session keeps it from entering the index in the list.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql as psql
from sqlalchemy import Connection, Engine, NullPool, create_engine

from pgrecall import Hits, MemoryRepository, NewMemory, RankIndex, ScoredMemory
from tests.conftest import DIMENSIONS
from tests.integration.support import NORTH
from tests.migrations.asking import rows, run, values, wait_until, wait_until_blocked

A = "agent"
SOME = 100
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
BUILDING = 'FROM "pgrecall".make_rank_index('
AGED = "UPDATE pgrecall.rank_indexes SET built_at = now() - interval '40 days'"
AWAITING = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND query LIKE '%%await_writers%%' AND wait_event = 'PgSleep'"
)
PAUSE = """
    CREATE FUNCTION public.pause() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(4711); END $$
"""
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' "
    "AND relname LIKE 'ranks\\_%%' ORDER BY 1"
)


def used_positions(relation: str) -> str:
    return f"{relation[:18]}8{relation[19:]}"


def memories(number: int, start: int = 0) -> list[NewMemory]:
    random = Random(start)
    return [
        NewMemory(
            f"memory {n}",
            embedding=[random.gauss() for _ in range(DIMENSIONS)],
            importance=random.random(),
            created_at=FIRST + timedelta(hours=n),
        )
        for n in range(start, start + number)
    ]


def fill(
    repo: MemoryRepository, agent_id: str = A, number: int = SOME, start: int = 0
) -> list[UUID]:
    return list(repo.add_many(agent_id, memories(number, start)))


def build(repo: MemoryRepository, agent_id: str = A, **options: Any) -> RankIndex:
    [index] = repo.rank_indexes.build(agent_id=agent_id, **{"at_least": 1} | options)
    return index


def maintain(repo: MemoryRepository, at_least: int = 1) -> list[str]:
    """The agents and teams that have a new index after it."""

    def built() -> set[tuple[str, datetime]]:
        of_both = [*repo.rank_indexes.status(), *repo.teams.rank_indexes.status()]
        return {(one.agent_id, one.index.built_at) for one in of_both if one.index}

    before = built()
    repo.maintenance.run(at_least=at_least)
    return sorted(agent_id for agent_id, _ in built() - before)


def due(repo: MemoryRepository, agent_id: str = A, at_least: int = 1) -> str | None:
    [status] = repo.rank_indexes.status(agent_id=agent_id, at_least=at_least)
    return status.due


def ids(hits: list[ScoredMemory]) -> list[UUID]:
    return [hit.memory.id for hit in hits]


def found(
    repo: MemoryRepository, query: list[float], strategy: Any, agent_id: str = A, **more: Any
) -> list[UUID]:
    hits = repo.search(agent_id, query, strategy=strategy, touch=False, **more)
    assert hits.strategy == strategy
    return ids(hits)


def assert_as_exact(repo: MemoryRepository, agent_id: str = A) -> None:
    """Few enough memories that the candidates are most of them: nothing may be missing."""
    random = Random(7)
    for _ in range(3):
        query = [random.gauss() for _ in range(DIMENSIONS)]
        through = found(repo, query, "index", agent_id)
        assert through == found(repo, query, "exact", agent_id)
        assert len(through) == 10


def recall(found: Hits, exact: Hits) -> float:
    """The share found of the exact answer, after making sure that the rest is as it has to be.

    As many hits, in order, and each that both have told the same in every field.
    """
    assert exact.strategy == "exact"
    assert len(found) == len(exact)
    assert all((-a.score, a.memory.id) < (-b.score, b.memory.id) for a, b in pairwise(found))
    known = {hit.memory.id: hit for hit in exact}
    same = [hit for hit in found if hit.memory.id in known]
    assert all(hit == known[hit.memory.id] for hit in same)
    assert all(hit.score <= best.score for hit, best in zip(found, exact, strict=True))
    return len(same) / len(exact) if exact else 1.0


def tables_of(url: str, schema: str = "pgrecall") -> list[str]:
    """Tables of positions; that of used memories only where its main table has gone."""
    found: list[str] = values(url, TABLES, f'"{schema}"')
    beside = {used_positions(name) for name in found if name != used_positions(name)}
    return [name for name in found if name not in beside]


@dataclass(frozen=True)
class Site:
    """A database, and threads in which something goes on meanwhile."""

    url: str
    engine: Engine
    background: ThreadPoolExecutor

    @property
    def repo(self) -> MemoryRepository:
        return MemoryRepository(self.engine)

    def another(self, settings: str = "", **options: Any) -> MemoryRepository:
        """A client that knows nothing yet: which indexes there are is remembered for seconds."""
        options["connect_args"] = {"options": settings}
        return MemoryRepository(create_engine(self.url, poolclass=NullPool, **options))

    def run(self, *statements: str) -> None:
        run(self.url, *statements)

    def rows(self, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
        return rows(self.url, query, *arguments)

    def values(self, query: str, *arguments: Any) -> list[Any]:
        """The first column."""
        return values(self.url, query, *arguments)

    def tables(self, schema: str = "pgrecall") -> list[str]:
        return tables_of(self.url, schema)

    def listed(self) -> list[tuple[Any, ...]]:
        return self.rows("SELECT agent_id, relation FROM pgrecall.rank_indexes ORDER BY 1")

    def assert_only(self, index: RankIndex) -> None:
        """That this index is listed, and no other table there."""
        tables = self.values(TABLES, '"pgrecall"')
        assert self.listed() == [(A, index.relation)]
        assert tables == sorted([index.relation, used_positions(index.relation)])

    def positions(self, index: RankIndex) -> list[UUID]:
        return self.values(f"SELECT memory_id FROM pgrecall.{index.relation}")

    def used(self, index: RankIndex) -> list[UUID]:
        """The memories in the table of those used since the build."""
        used = f"SELECT memory_id FROM pgrecall.{used_positions(index.relation)} ORDER BY 1"
        return self.values(used)

    def build(self, agent_id: str = A, **options: Any) -> RankIndex:
        return build(self.repo, agent_id, **options)

    def build_meanwhile(self, repo: MemoryRepository | None = None) -> Future[RankIndex]:
        return self.background.submit(build, repo or self.repo)

    def await_waiting(self, since: str = "0 ms") -> None:
        """Until a build has waited so long for those who write."""
        query = f"{AWAITING} AND now() - query_start > '{since}'"
        wait_until("the build waits for the writer", lambda: bool(self.values(query)))

    @contextmanager
    def held(self, work: Callable[[], Any]) -> Iterator[tuple[int, Future[Any]]]:
        """The process id and the future of a build that has done all but enter its index."""
        with psycopg.connect(self.url) as other:
            other.execute("LOCK TABLE pgrecall.rank_indexes IN SHARE MODE")
            running = self.background.submit(work)
            try:
                yield wait_until_blocked(self.url, BUILDING, "relation"), running
            finally:
                other.rollback()

    @contextmanager
    def paused(self) -> Iterator[Future[RankIndex]]:
        """The future of a build that has made its graph."""
        when = "ON ddl_command_end WHEN TAG IN ('CREATE INDEX')"
        self.run(PAUSE, f"CREATE EVENT TRIGGER pause {when} EXECUTE FUNCTION public.pause()")
        try:
            with psycopg.connect(self.url) as other:
                other.execute("SELECT pg_advisory_xact_lock(4711)")
                running = self.build_meanwhile(self.another())
                wait_until_blocked(self.url, BUILDING, "advisory")
                yield running
                other.rollback()
        finally:
            self.run("DROP EVENT TRIGGER pause", "DROP FUNCTION public.pause")


@contextmanager
def site_of(url: str, engine: Engine) -> Iterator[Site]:
    with ThreadPoolExecutor(4) as background:
        yield Site(url, engine, background)


def insert(connection: psycopg.Connection, content: str, agent_id: str = A) -> UUID:
    row = connection.execute(
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding, created_at) "
        "VALUES (%s, gen_random_uuid(), %s, %s, '2026-01-02') RETURNING id",
        (agent_id, content, str(NORTH)),
    ).fetchone()
    assert row is not None
    memory_id: UUID = row[0]
    return memory_id


@contextmanager
def new_role(url: str, name: str) -> Iterator[str]:
    """A role of the server, that may use the schema and nothing in it."""
    name = f"{name} {os.getpid()}"
    quoted = psql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psql.SQL("CREATE ROLE {}").format(quoted))
        connection.execute(psql.SQL("GRANT USAGE ON SCHEMA pgrecall TO {}").format(quoted))
        try:
            yield name
        finally:
            connection.execute(psql.SQL("DROP OWNED BY {} CASCADE").format(quoted))
            connection.execute(psql.SQL("DROP ROLE {}").format(quoted))


@contextmanager
def acting_as(engine: Engine, role: str) -> Iterator[Connection]:
    with engine.connect() as connection:
        quoted = psql.Identifier(role).as_string(connection.connection.driver_connection)
        connection.exec_driver_sql(f"SET ROLE {quoted}".replace("%", "%%"), ())
        try:
            yield connection
        finally:
            connection.rollback()
            connection.exec_driver_sql("RESET ROLE")  # what was committed stays with the session
            connection.commit()
