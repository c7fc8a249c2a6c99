"""A client that is cut off in the middle of an operation leaves all of it or nothing.

Each operation is carried out once to the end, and what is in the database between its transactions
is written down. Then it is cut off at every single moment: before each statement, before what is
copied, and before each commit. What is left must be what was there when the interrupted transaction
began.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.errors import DatabaseUnavailable
from pgrecall.lifecycle import maintenance
from pgrecall.lifecycle.retention import RetentionPolicy
from tests.integration.compass import North
from tests.integration.conftest import OWNED
from tests.integration.support import NORTH, at, awaited, sql
from tests.integration.test_both_repositories import A, furnish, number

OLD = datetime(2026, 1, 1, tzinfo=UTC)
Work = Callable[[MemoryRepository], Any]


def memory(n: int, content: str, angle: float | None = None, **more: Any) -> NewMemory:
    embedding = None if angle is None else at(angle)
    return NewMemory(content, id=number(n), embedding=embedding, **more)


@dataclass(frozen=True)
class Case:
    work: Work
    prepare: Work
    transactions: int = 1
    ignored: frozenset[str] = field(default_factory=frozenset)
    """Tables that may tell that the work was done twice, once interrupted."""


def two_clusters(repo: MemoryRepository) -> None:
    for n in range(7):
        angle = [0.0, 90.0][n % 2] + n
        repo.add(A, memory(n, f"memory {n}", angle, importance=n / 10, tags=[f"t{n}"]))


def poor(repo: MemoryRepository) -> None:
    """To be deleted, archived by each rule, kept, and what was left of memories that are gone."""
    trusts = [0.05, 0.15, 0.9, 0.5, 0.02, 0.9, 0.7, 0.6, 0.8]
    repo.add_many(A, [memory(n, f"memory {n}", trust=trust) for n, trust in enumerate(trusts)])
    repo.update(A, number(5), created_at=OLD)
    repo.touch(A, [number(n) for n in range(9)])
    for n in range(9):
        repo.links.add(A, number(n), number((n + 4) % 9))


def orphans(engine: Engine) -> None:
    for n in range(100, 103):
        for statement in (
            "memory_usage (agent_id, memory_id) VALUES (:agent, :gone)",
            "memory_links VALUES (:agent, :gone, gen_random_uuid(), 'x')",
        ):
            sql(engine, f"INSERT INTO pgrecall.{statement}", agent=A, gone=number(n))


BATCH = [
    memory(20, "new", 10),
    memory(21, "MEMORY 1"),
    memory(22, "memory   1"),
    memory(23, "newer"),
    memory(24, "New"),
    memory(25, "memory 4", 99),
    memory(0, "known already"),
]
POLICY = replace(RetentionPolicy.grace(), max_live=3)


def maintain(repo: MemoryRepository) -> None:
    with patch.object(maintenance, "BATCH_SIZE", 5):
        repo.maintenance.run(POLICY, agent_id=A)


def shorter(texts: Sequence[str]) -> str:
    return " and ".join(sorted(texts))


CASES = {
    "add_many": Case(lambda repo: repo.add_many(A, BATCH), furnish),
    "add_many, compared": Case(
        lambda repo: repo.add_many(A, [*BATCH, memory(31, "n", 42)], near_duplicates=0.92), furnish
    ),
    "upsert_many": Case(
        lambda repo: repo.upsert_many(A, [NewMemory("new", key="k", embedding=NORTH)]), furnish
    ),
    "consolidate": Case(
        lambda repo: repo.consolidate(A, shorter, more_than=3, actor="me"),
        two_clusters,
        1 + 2,  # finding, two clusters
    ),
    "maintain": Case(
        maintain,
        poor,
        # Looking, beginning; 5 memories, then 4; the cap and a first sweep; a second sweep; uses of
        # rank indexes, their tables twice, ending.
        2 + 2 + 1 + 1 + 4,
        frozenset({"maintenance_runs"}),
    ),
    "erase_owner": Case(lambda repo: repo.erase_owner(A, batch_size=2), furnish, 7),
}
"""All that are carried out by several statements. Of one statement PostgreSQL itself leaves all or
nothing; that the others are one is shown by test_storing."""
ASYNCHRONOUS = ("add_many", "maintain")


class Reaper:
    """Ends the server's side of the victims' connection at one moment of an operation."""

    def __init__(self, engine: Engine, victims: Engine) -> None:
        self.engine = engine
        self.moment = 0
        self.dies_at: int | None = None
        self.watching = False
        self.begun: Callable[[], None] | None = None
        event.listen(victims, "begin", self._begin)
        event.listen(victims, "before_cursor_execute", self._before)
        event.listen(victims, "after_cursor_execute", self._after)
        event.listen(victims, "commit", self._pass)

    def watch(self, dies_at: int | None = None, begun: Callable[[], None] | None = None) -> None:
        self.moment, self.dies_at, self.begun, self.watching = 0, dies_at, begun, True

    def _begin(self, connection: Connection) -> None:
        if self.watching and self.begun:
            self.begun()

    def _before(self, connection: Connection, *_: Any) -> None:
        self._pass(connection)

    def _after(self, connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if statement.strip().startswith("CREATE TEMPORARY TABLE"):  # COPY comes next
            self._pass(connection)

    def _pass(self, connection: Connection) -> None:
        if not self.watching:
            return
        if self.moment == self.dies_at:
            self.watching = False
            driver = connection.connection.driver_connection
            assert driver is not None
            victim = driver.info.backend_pid
            sql(self.engine, "SELECT pg_terminate_backend(:victim)", victim=victim)
            wait_until_there_is_none(self.engine, f"pid = {victim}")
        self.moment += 1


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Keeps its connections: thousands of statements are run on it."""
    made = create_engine(database_url)
    yield made
    made.dispose()


@dataclass
class Stage:
    """Sets out the same rows as often as needed; temporary tables keep them."""

    repo: MemoryRepository
    reaper: Reaper
    engine: Engine
    keeper: psycopg.Connection[Any]
    again: str = ""

    def set(self, case: Case) -> None:
        self.reaper.watching = False
        if self.again:
            self.keeper.execute(self.again)
            return
        case.prepare(MemoryRepository(self.engine))
        if case.prepare is poor:
            orphans(self.engine)
        columns = (
            "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute "
            "WHERE attrelid = %s::regclass AND attnum > 0 AND attgenerated = ''"
        )
        for table in OWNED:
            whole = f"pgrecall.{table}"
            [(names,)] = self.keeper.execute(columns, (whole,)).fetchall()
            keep = f"CREATE TEMPORARY TABLE saved_{table} AS SELECT {names} FROM {whole}"
            self.keeper.execute(keep)
            self.again += f"DELETE FROM {whole};"
            self.again += f"INSERT INTO {whole} ({names}) SELECT {names} FROM saved_{table};"


@pytest.fixture
def keeper(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def stage(
    request: pytest.FixtureRequest,
    database_url: str,
    engine: Engine,
    keeper: psycopg.Connection[Any],
) -> Iterator[Stage]:
    """Of a synchronous repository, unless the test asks for the other."""
    options: dict[str, Any] = {"pool_size": 1, "max_overflow": 0}
    with asyncio.Runner() as runner:
        if getattr(request, "param", "sync") == "sync":
            victims = create_engine(database_url, **options)
            repo = MemoryRepository(victims, embedder=North())
        else:
            others = create_async_engine(database_url, **options)
            victims = others.sync_engine
            repo = awaited(AsyncMemoryRepository(others, embedder=North()), runner.run)
        repo.count(A)
        yield Stage(repo, Reaper(engine, victims), engine, keeper)
        if victims.dialect.is_async:
            runner.run(others.dispose())
        else:
            victims.dispose()


CHOSEN = [
    pytest.param(kind, name, id=f"{name}, {kind}")
    for kind, names in (("sync", tuple(CASES)), ("async", ASYNCHRONOUS))
    for name in names
]


@pytest.mark.parametrize(("stage", "name"), CHOSEN, indirect=["stage"])
def test_an_operation_cut_off_at_any_moment_leaves_whole_transactions(
    stage: Stage, engine: Engine, name: str
) -> None:
    case = CASES[name]
    stage.set(case)
    found: list[dict[str, list[str]]] = []
    begun_at: list[int] = []

    def begun() -> None:
        found.append(dump(engine))
        begun_at.append(stage.reaper.moment)

    stage.reaper.watch(begun=begun)
    case.work(stage.repo)
    stage.reaper.watching = False
    moments = stage.reaper.moment
    complete = dump(engine)

    assert len(found) == case.transactions
    assert moments >= 1
    assert found[0] != complete
    for moment in range(moments):
        stage.set(case)
        stage.reaper.watch(dies_at=moment)
        try:
            case.work(stage.repo)
        except DatabaseUnavailable:
            pass
        else:  # a part that only reads has repeated itself
            assert name == "consolidate"
            continue
        left = found[max(i for i, start in enumerate(begun_at) if start <= moment)]
        assert dump(engine) == left, f"{name}, cut off at moment {moment} of {moments}"
        case.work(stage.repo)
        assert dump(engine, case.ignored) == without(complete, case.ignored), (
            f"{name}, repeated after it was cut off at moment {moment} of {moments}"
        )


KILLED = """
import os, signal, sys
from sqlalchemy import create_engine, event
from pgrecall import MemoryRepository
from pgrecall.migrate.connecting import database_url
from tests.integration.test_killed_clients import CASES

url, name, moment = sys.argv[1], sys.argv[2], int(sys.argv[3])
engine = create_engine(database_url(url))
repo = MemoryRepository(engine)
repo.count("agent")
passed = 0

def statement(*_):
    global passed
    if passed == moment:
        os.kill(os.getpid(), signal.SIGKILL)
    passed += 1

event.listen(engine, "after_cursor_execute", statement)
CASES[name].work(repo)
"""


def test_a_client_that_is_killed_leaves_whole_transactions(
    stage: Stage, engine: Engine, database_url: str
) -> None:
    """Each transaction lifts limits first: the one after the first batch has just begun."""
    case = CASES["maintain"]
    stage.set(case)
    found: list[dict[str, list[str]]] = []
    stage.reaper.watch(begun=lambda: found.append(dump(engine)))
    case.work(stage.repo)
    stage.set(case)

    ended = subprocess.run(
        [sys.executable, "-c", KILLED, database_url, "maintain", "6"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )

    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    wait_until_the_server_has_noticed(engine)
    assert dump(engine) == found[3]


def wait_until_the_server_has_noticed(engine: Engine) -> None:
    """A killed client's transaction is rolled back once its backend sees that it is gone."""
    wait_until_there_is_none(
        engine,
        "datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend' AND state <> 'idle'",
    )


def wait_until_there_is_none(engine: Engine, such: str) -> None:
    for _ in range(20_000):
        if not sql(engine, f"SELECT FROM pg_stat_activity WHERE {such}"):
            return
    raise AssertionError(f"there still is a session where {such}")


UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(?:\+\d\d:?\d\d|\+00|Z)?")


def dump(engine: Engine, ignored: frozenset[str] = frozenset()) -> dict[str, list[str]]:
    """All rows of all tables; ids made on the way by what they say, times only as there or not."""
    names = {
        str(id_): f"{content!r} {status}"
        for id_, content, status in sql(
            engine, "SELECT id, content, status FROM pgrecall.agent_memories"
        )
    }
    ours = {str(number(n)): f"number {n}" for n in range(200)}

    def named(match: re.Match[str]) -> str:
        found = match.group()
        return ours.get(found) or names.get(found, "<made>")

    every = " UNION ALL ".join(f"SELECT '{t}', to_jsonb(t) FROM pgrecall.{t} t" for t in OWNED)
    tables: dict[str, list[str]] = {table: [] for table in OWNED if table not in ignored}
    for table, row in sql(engine, every):
        if table in tables:
            row.pop("seconds", None)
            line = json.dumps(row, sort_keys=True)
            tables[table].append(TIMES.sub("<time>", UUIDS.sub(named, line)))
    return {table: sorted(lines) for table, lines in tables.items()}


def without(found: dict[str, list[str]], ignored: frozenset[str]) -> dict[str, list[str]]:
    return {table: rows for table, rows in found.items() if table not in ignored}
