"""Poolers that give each transaction another session: PgBouncer where it is installed, and one made
of two real connections."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pwd import getpwuid
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import NullPool, create_engine, make_url
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, migrate, pin_search_path
from pgrecall.errors import MigrationFailed
from tests.migrations.asking import value, values, wait_until

EMBEDDING = [1.0, 0.0, 0.0]
SETTINGS = "SELECT current_setting('search_path') || current_setting('lock_timeout')"
LOCKS = (
    "SELECT mode FROM pg_locks WHERE locktype = 'advisory' "
    "OR relation = to_regclass('pgrecall.alembic_version')"
)
REFUSAL = "pooler that gives each transaction another session.*PostgreSQL directly"


def require_untouched(url: str) -> None:
    assert value(url, "SELECT to_regnamespace('pgrecall')") is None
    assert value(url, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == 0


class Changing(psycopg.Connection[Any]):
    """Goes on with another session after each transaction, once it is told to."""

    other: psycopg.Connection[Any]
    changes: Callable[[], bool]

    def commit(self) -> None:
        super().commit()
        self._change()

    def rollback(self) -> None:
        super().rollback()
        self._change()

    def _change(self) -> None:
        if not self.closed and self.changes():
            self.pgconn, self.other.pgconn = self.other.pgconn, self.pgconn


@pytest.mark.parametrize("after", ["connecting", "CREATE EXTENSION"])
def test_a_session_that_changes_is_noticed(empty_url: str, after: str) -> None:
    asked = {
        "connecting": "SELECT true",
        "CREATE EXTENSION": "SELECT count(*) = 1 FROM pg_extension WHERE extname = 'vector'",
    }
    made: list[Changing] = []

    def connect() -> Changing:
        connection = Changing.connect(empty_url)
        connection.other = psycopg.connect(empty_url, autocommit=True)
        connection.changes = lambda: bool(value(empty_url, asked[after]))
        made.append(connection)
        return connection

    before = value(empty_url, SETTINGS)
    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)

    with pytest.raises(MigrationFailed, match=REFUSAL):
        migrate.upgrade(engine, dimensions=3)

    if after == "connecting":
        require_untouched(empty_url)
    assert made
    for connection in made:  # what the pooler would hand out again
        assert connection.closed
        assert connection.other.execute(SETTINGS).fetchall() == [(before,)]
    assert values(empty_url, LOCKS) == []
    for connection in made:
        connection.other.close()
    assert migrate.upgrade(empty_url, dimensions=3).pending == []


def listens(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        return tried.connect_ex(address) == 0


@contextmanager
def pgbouncer(url: str, **settings: object) -> Iterator[str]:
    """The URL of the same database through a PgBouncer of one's own."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    server = conninfo_to_dict(url)
    user, password = server.get("user", "postgres"), server.get("password") or ""
    target = " ".join(f"{key}={server[key]}" for key in ("host", "port") if key in server)
    with tempfile.TemporaryDirectory(prefix="b", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        options = {
            "listen_addr": "",
            "listen_port": 6543,
            "unix_socket_dir": folder,
            "auth_type": "trust",
            "auth_file": f"{folder}/users",
            **settings,
        }
        lines = ["[databases]", f"* = {target}", "[pgbouncer]"]
        lines += [f"{name} = {setting}" for name, setting in options.items()]
        Path(folder, "ini").write_text("\n".join(lines), encoding="utf-8")
        Path(folder, "users").write_text(f'"{user}" "{password}"\n', encoding="utf-8")
        as_user = []
        if os.geteuid() == 0:  # it refuses to run as root: whoever may use the server's socket
            where = str(server.get("host", ""))
            uid = Path(where).stat().st_uid if where.startswith("/") else 65534
            as_user = ["--user", getpwuid(uid).pw_name]
        process = subprocess.Popen(
            [program, "-q", *as_user, f"{folder}/ini"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = f"{folder}/.s.PGSQL.6543"
            wait_until("pgbouncer listens", lambda: listens(address) or process.poll() is not None)
            assert process.poll() is None
            database = make_url(url).database
            yield f"postgresql://{user}:{password}@/{database}?host={folder}&port=6543"
        finally:
            process.terminate()
            process.wait()


@pytest.mark.parametrize(
    "settings", [{}, {"default_pool_size": 1}, {"min_pool_size": 3, "server_round_robin": 1}]
)
def test_pgbouncer_in_transaction_mode_is_refused(
    empty_url: str, settings: dict[str, object]
) -> None:
    with pgbouncer(empty_url, pool_mode="transaction", **settings) as pooled:
        before = value(empty_url, SETTINGS)

        with pytest.raises(MigrationFailed, match=REFUSAL):
            migrate.upgrade(pooled, dimensions=3)

        require_untouched(empty_url)
        assert value(pooled, SETTINGS) == before
        assert value(pooled, "SELECT count(*) FROM pg_prepared_statements") == 0
        assert values(empty_url, LOCKS) == []
        assert migrate.upgrade(empty_url, dimensions=3).pending == []
        assert migrate.status(pooled).pending == []


def test_pgbouncer_in_session_mode_is_none(empty_url: str) -> None:
    """Though it tells a client another number than that of its backend."""
    with pgbouncer(empty_url, pool_mode="session") as pooled:
        assert migrate.upgrade(pooled, dimensions=3).pending == []


def work(repo: MemoryRepository, agent: str) -> int:
    repo.add_many(agent, [NewMemory(f"{agent} {n}", embedding=EMBEDDING) for n in range(20)])
    for n in range(12):
        repo.add(agent, NewMemory(f"more {n}", embedding=EMBEDDING))
        repo.search(agent, EMBEDDING, k=5)
    return repo.count(agent)


async def work_async(url: str, agent: str) -> int:
    engine = create_async_engine(url, connect_args={"prepare_threshold": None})
    repo = AsyncMemoryRepository(engine)
    await repo.add_many(agent, [NewMemory(f"{n}", embedding=EMBEDDING) for n in range(20)])
    for _ in range(12):
        await repo.search(agent, EMBEDDING, k=5)
    counted = await repo.count(agent)
    await engine.dispose()
    return counted


def test_repositories_work_through_pgbouncer(migrated: str) -> None:
    with pgbouncer(migrated, pool_mode="transaction") as pooled:
        url = make_url(pooled).set(drivername="postgresql+psycopg")
        engines = [create_engine(url, connect_args={"prepare_threshold": None}) for _ in "ab"]

        with engines[0].connect():  # so that both meet sessions that the other has used
            assert [
                work(MemoryRepository(engine), name)
                for engine, name in zip(engines, "bc", strict=True)
            ] == [32, 32]
        assert asyncio.run(work_async(url.render_as_string(hide_password=False), "a")) == 20

        for engine in engines:
            engine.dispose()


def test_a_pinned_search_path_stays_with_its_engine(migrated: str) -> None:
    """Behind a pooler it is set for each transaction, and others find their session as it was."""
    with pgbouncer(migrated, pool_mode="transaction", default_pool_size=1) as pooled:
        url = make_url(pooled).set(drivername="postgresql+psycopg")
        usual = value(migrated, "SHOW search_path")
        for target in (url, make_url(migrated).set(drivername="postgresql+psycopg")):
            made = create_engine(target, connect_args={"prepare_threshold": None})
            engine = pin_search_path(made)
            for _ in range(2):
                with engine.connect() as connection:
                    path = connection.exec_driver_sql("SHOW search_path").scalar()
                    assert path == "pg_catalog, pg_temp"
            assert value(pooled, "SHOW search_path") == usual
            if target is url:
                assert work(MemoryRepository(engine), "pinned") == 32
            engine.dispose()
        assert asyncio.run(pinned_path(url.render_as_string(hide_password=False))) == path


async def pinned_path(url: str) -> object:
    engine = pin_search_path(create_async_engine(url, connect_args={"prepare_threshold": None}))
    async with engine.connect() as connection:
        path = (await connection.exec_driver_sql("SHOW search_path")).scalar()
    await engine.dispose()
    return path
