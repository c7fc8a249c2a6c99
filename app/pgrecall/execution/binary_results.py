"""Results that do not depend on the session's settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import Format


@contextmanager
def binary_results(driver: Any) -> Iterator[None]:
    """Cursors made meanwhile on this connection of psycopg's fetch in binary.

    As text, times depend on DateStyle, of which psycopg reads only ISO, and numbers on
    extra_float_digits. The connection is the caller's: it is left as it was.
    """
    factory = driver.cursor_factory

    def binary(*arguments: Any, **options: Any) -> Any:
        cursor = factory(*arguments, **options)
        if not isinstance(cursor, psycopg.ClientCursor | psycopg.AsyncClientCursor):  # they cannot
            cursor.format = Format.BINARY
        return cursor

    driver.cursor_factory = binary
    try:
        yield
    finally:
        driver.cursor_factory = factory
