"""A schema on Citus, where PGRECALL_TEST_CITUS_URL is the URL of a coordinator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from pgrecall import migrate
from tests.conftest import DIMENSIONS

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
