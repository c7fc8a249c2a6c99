"""The server that is measured: embedded, in a directory of its own, with memory for the data."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, embedded
from pgrecall.core.embedders import Embedder
from pgrecall.migrate.connecting import database_url

SETTINGS = """
shared_buffers = '1GB'
maintenance_work_mem = '1GB'
autovacuum = off  # tables are vacuumed once loaded; nothing may disturb what is timed
"""


@contextmanager
def server(settings: str = SETTINGS) -> Iterator[str]:
    """The URL of an empty database, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="pgrecall-bench-") as folder:
        data = Path(folder) / "data"
        with embedded.database(data):
            pass  # the first start writes the configuration that is added to here
        with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(settings)
        with embedded.database(data) as url:
            yield url


@contextmanager
def repository(url: str, embedder: Embedder | None = None) -> Iterator[MemoryRepository]:
    """A repository with one connection, closed afterwards."""
    engine = create_engine(database_url(url), pool_size=1, max_overflow=0)
    try:
        yield MemoryRepository(engine, embedder=embedder)
    finally:
        engine.dispose()


def log_lines(url: str) -> list[str]:
    """What such a server has logged."""
    with psycopg.connect(url) as connection:
        [(folder,)] = connection.execute("SHOW data_directory").fetchall()
    return [
        line
        for file in Path(folder).glob("**/*log*")
        if file.is_file() and file.suffix in ("", ".log")
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
    ]
