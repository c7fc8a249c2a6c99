"""The server that is measured: embedded, in a directory of its own, with memory for the data."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgrecall import embedded

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
