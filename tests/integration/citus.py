"""A schema on Citus, where PGRECALL_TEST_CITUS_URL is the URL of a coordinator."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import psycopg
import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, migrate
from pgrecall.migrate.connecting import database_url
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.conftest import empty

URL = os.environ.get("PGRECALL_TEST_CITUS_URL", "")
on_citus = pytest.mark.skipif(
    not URL, reason="PGRECALL_TEST_CITUS_URL is not set to the URL of a Citus coordinator"
)
_DROP = "DROP SCHEMA IF EXISTS pgrecall CASCADE"


@contextmanager
def distributed() -> Iterator[psycopg.Connection]:
    """A session on the coordinator, with a new schema `pgrecall` distributed."""
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute(_DROP)
        migrate.upgrade(URL, dimensions=DIMENSIONS)
        migrate.distribute(URL)
        connection.execute("SET search_path = pgrecall, public")
        yield connection
        connection.execute(_DROP)


class Worker(NamedTuple):
    host: str
    port: int


def workers(session: psycopg.Connection) -> list[Worker]:
    active = "SELECT node_name, node_port FROM citus_get_active_worker_nodes() ORDER BY 1, 2"
    return [Worker(*row) for row in session.execute(active)]


def place(session: psycopg.Connection, owner: str) -> tuple[int, Worker]:
    """The shard of an owner's memories, and where it is."""
    [row] = session.execute(
        "SELECT s.shardid, s.nodename, s.nodeport FROM citus_shards s "
        "WHERE s.shardid = get_shard_id_for_distribution_column('agent_memories', %s::text)",
        [owner],
    )
    return row[0], Worker(*row[1:])


def move(session: psycopg.Connection, owner: str) -> Worker:
    """Moves an owner's shards to another worker. Returns where they were.

    Of a deadlock with writers, Citus may cancel the move.
    """
    shard, here = place(session, owner)
    there = next(worker for worker in workers(session) if worker != here)
    for _ in range(10):
        with suppress(psycopg.errors.DeadlockDetected):
            session.execute(
                "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s)", [shard, *here, *there]
            )
            break
    return here


@contextmanager
def one_and_several_nodes(
    server_url: str, template: str, furnish: Callable[[MemoryRepository], None], **options: Any
) -> Iterator[tuple[MemoryRepository, MemoryRepository]]:
    """One server, and the cluster, with the same memories."""
    with new_database(server_url, template) as url:
        engines = [create_engine(one) for one in (url, database_url(URL))]
        one, several = (MemoryRepository(engine, **options) for engine in engines)
        for repo in (one, several):
            furnish(repo)
        yield one, several
        for engine in engines:
            engine.dispose()
    with psycopg.connect(URL, autocommit=True) as connection:
        empty(connection)
