"""What tests of words share: searches by them, and roles to search as."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg import sql

from pgrecall import Hits, MemoryRepository, migrate
from pgrecall.migrate.access import Level
from tests.migrations.asking import rows

DIMENSIONS = 3
QUERY = [1.0, 0.0, 0.0]
SOON = datetime.now(UTC) + timedelta(days=1)
"""A moment to ask about that stays the same from one search to the next."""
OWN = "CREATE TEXT SEARCH CONFIGURATION {} (COPY = pg_catalog.simple)"


def terms(url: str, schema: str = "pgrecall") -> dict[str, set[str]]:
    query = f'SELECT content, tsvector_to_array(terms) FROM "{schema}".agent_memories'
    return {content: set(found) for content, found in rows(url, query)}


def hybrid(repo: MemoryRepository, agent: str, text: str, **asked: Any) -> Hits:
    usual: dict[str, Any] = {
        "k": 10,
        "touch": False,
        "profile": "hybrid",
        "as_of": SOON,
        "query_text": text,
    }
    asked = usual | asked
    return repo.search(agent, QUERY, **asked)


def with_words(hits: Hits) -> list[str]:
    """What has any of the query's words."""
    return sorted(hit.memory.content for hit in hits if hit.signals["keyword"])


@contextmanager
def new_role(url: str, *tables: str, level: Level | None = None) -> Iterator[str]:
    """A role that may use the schema and read these tables, or is let in at a level."""
    name = f"pgrecall reader {os.getpid()}"
    role = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(role))
        try:
            connection.execute(sql.SQL("GRANT USAGE ON SCHEMA pgrecall TO {}").format(role))
            if level:
                migrate.grant(url, name, level)
            for table in tables:
                connection.execute(
                    sql.SQL("GRANT SELECT ON pgrecall.{} TO {}").format(sql.Identifier(table), role)
                )
            yield name
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
            connection.execute(sql.SQL("DROP ROLE {}").format(role))
