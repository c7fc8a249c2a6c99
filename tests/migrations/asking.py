"""Asking a database directly, past everything that is under test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import make_url

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


def wait_until_blocked(url: str, statement: str = "") -> int:
    """Waits for a backend whose statement begins like this to wait for a lock; returns its pid."""
    query = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND wait_event_type = 'Lock' AND starts_with(ltrim(query, chr(10)), %s)"
    )
    wait_until(
        f"{statement or 'something'} is blocked", lambda: bool(values(url, query, statement))
    )
    pid: int = values(url, query, statement)[0]
    return pid
