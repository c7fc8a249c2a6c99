"""A primary with a streaming replica, both of embedded PostgreSQL."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from pgrecall import embedded, migrate
from pgrecall.testing import hurry
from tests.conftest import DIMENSIONS

_USER = "pgserver"
"""Who runs PostgreSQL where the tests run as root."""


@contextmanager
def replicated(folder: Path) -> Iterator[tuple[str, str]]:
    """The URLs of both. A commit returns when the replica has it, unless `synchronous_commit` says
    otherwise."""
    with ExitStack() as stack:
        primary = stack.enter_context(embedded.database(folder / "primary"))
        hurry(primary)
        migrate.upgrade(primary, dimensions=DIMENSIONS)
        _copy(primary, folder / "replica")
        replica = stack.enter_context(embedded.database(folder / "replica"))
        with psycopg.connect(primary, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("ALTER SYSTEM SET synchronous_commit = remote_apply")
            connection.execute("SELECT pg_reload_conf()")
        yield primary, replica


def _copy(primary: str, replica: Path) -> None:
    replica.mkdir(mode=0o700)
    user = _USER if os.name == "posix" and os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(replica, user)
    backup = embedded.binaries() / "pg_basebackup"
    subprocess.run(
        [backup, "-d", primary, "-D", replica, "-R", "-c", "fast"], check=True, user=user
    )
    for lock in replica.glob(".s.PGSQL.*"):  # of the primary's socket, which is in its folder
        lock.unlink()
