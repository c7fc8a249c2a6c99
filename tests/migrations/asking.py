"""Asking a database directly, past everything that is under test."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from alembic.config import main
from psycopg import sql
from sqlalchemy import Engine, NullPool, create_engine, make_url

from pgrecall import MemoryRepository, embedded

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 30.0


def run(url: str, *statements: str) -> None:
    """Runs statements outside of a transaction."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def as_role(url: str, role: str) -> str:
    made = make_url(url).set(username=role, password="x")
    return made.render_as_string(hide_password=False)


def rows(url: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query.encode(), values).fetchall()


def values(url: str, query: str, *arguments: Any) -> list[Any]:
    """The first column."""
    return [row[0] for row in rows(url, query, *arguments)]


def value(url: str, query: str, *arguments: Any) -> Any:
    [found] = values(url, query, *arguments)
    return found


def wait_until(what: str, happened: Callable[[], bool]) -> None:
    """Polls until something can be observed; fails when it never is."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not happened():
        assert time.monotonic() < deadline, f"waited {DEADLINE_SECONDS:g} s until {what}"
        time.sleep(0.01)


def wait_until_blocked(url: str, statement: str = "", lock: str = "%%") -> int:
    """Waits for a backend whose statement has this in it to wait for a lock; returns its pid.

    `lock` is its kind, such as relation or advisory.
    """
    query = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        f"AND wait_event_type = 'Lock' AND wait_event LIKE '{lock}' "
        r"AND strpos(regexp_replace(query, '\s+', ' ', 'g'), %s) > 0"
    )
    wait_until(
        f"{statement or 'something'} is blocked", lambda: bool(values(url, query, statement))
    )
    pid: int = values(url, query, statement)[0]
    return pid


@contextmanager
def open_transaction(url: str, *statements: str) -> Iterator[psycopg.Connection]:
    """Holds the locks that these statements take."""
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        yield connection
        connection.rollback()


def terminate(url: str, pid: int) -> None:
    assert value(url, "SELECT pg_terminate_backend(%s, 10000)", pid)


def engine_of(url: str, **options: Any) -> Engine:
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool, **options
    )


def repository(url: str, schema: str = "pgrecall") -> MemoryRepository:
    return MemoryRepository(engine_of(url), schema=schema)


def insert(url: str, owner: str, content: str, *, schema: str = "pgrecall") -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            sql.SQL(
                "INSERT INTO {} (agent_id, id, content, embedding) "
                "VALUES (%s, gen_random_uuid(), %s, '[1,2,3]')"
            ).format(sql.Identifier(schema, "agent_memories")),
            (owner, content),
        )


def psql(url: str, script: str) -> None:
    done = subprocess.run(
        [embedded.binaries() / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", url],
        input=script,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PGCLIENTENCODING": "UTF8"},
    )
    assert done.returncode == 0, done.stderr


def restored(source: str, target: str) -> None:
    """The whole database, through pg_dump and psql."""
    done = subprocess.run(
        [embedded.binaries() / "pg_dump", "--no-owner", source],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PGCLIENTENCODING": "UTF8"},
    )
    assert done.returncode == 0, done.stderr
    psql(target, done.stdout)


def alembic(url: str, *arguments: str, ini: Path = ROOT / "alembic.ini") -> None:
    """Plain `alembic` in a checkout, in this process."""
    main(["-c", str(ini), "-x", f"url={url}", *arguments])
