"""Binary results, which do not depend on the session's settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import Format


@contextmanager
def binary_results(driver: Any) -> Iterator[None]:
    """Makes new cursors of a psycopg connection fetch results in binary.

    Text results depend on settings: times on DateStyle, of which psycopg reads only ISO, and
    numbers on extra_float_digits. The connection is restored afterwards, since it may be the
    caller's.
    """
    factory = driver.cursor_factory

    def binary(*arguments: Any, **options: Any) -> Any:
        cursor = factory(*arguments, **options)
        if not isinstance(cursor, psycopg.ClientCursor | psycopg.AsyncClientCursor):  # text only
            cursor.format = Format.BINARY
        return cursor

    driver.cursor_factory = binary
    try:
        yield
    finally:
        driver.cursor_factory = factory
