"""One owner of memories, for tests in which every call would name it."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, text

from pgrecall import MaintenanceRun, Memory, MemoryRepository, NewMemory
from pgrecall.core.embedders import Embedder
from pgrecall.execution.method import Namespace
from pgrecall.lifecycle.event import Event
from tests.integration.support import NORTH, contents

TABLES = ("agent_memories", "memory_usage", "memory_events", "memory_links", "maintenance_runs")


def _named(part: Any, owner: str) -> Any:
    """A method without its first argument, or a namespace of such."""
    if not isinstance(part, Namespace):
        return partial(part, owner)
    names = (name for name in dir(part) if not name.startswith("_"))
    return SimpleNamespace(**{name: partial(getattr(part, name), owner) for name in names})


class Owner:
    """The repository's methods without their first argument, and what is stored of the owner."""

    def __init__(
        self,
        bind: Engine | Connection,
        name: str,
        *,
        is_team: bool = False,
        embedder: Embedder | None = None,
    ) -> None:
        self.bind, self.name, self.is_team, self.embedder = bind, name, is_team, embedder
        repo = MemoryRepository(bind, embedder=embedder)
        self.repo = repo.teams if is_team else repo
        self.stored_id = f"team:{name}" if is_team else name

    def __getattr__(self, name: str) -> Any:
        return _named(getattr(self.repo, name), self.name)

    def maintain(self, *policy: Any, **options: Any) -> MaintenanceRun:
        return self.repo.maintenance.run(*policy, agent_id=self.name, **options)

    @property
    def other(self) -> Owner:
        name = f"{self.name} other"
        return Owner(self.bind, name, is_team=self.is_team, embedder=self.embedder)

    @property
    def team(self) -> Owner:
        """A team of the same name."""
        return Owner(self.bind, self.name, is_team=True, embedder=self.embedder)

    def within(self, connection: Connection) -> Owner:
        """In a transaction of the caller's."""
        return Owner(connection, self.name, is_team=self.is_team, embedder=self.embedder)

    def read(self, memory_id: UUID) -> Memory:
        memory = self.repo.get(self.name, memory_id)
        assert memory is not None
        return memory

    def kinds(self, memory_id: UUID) -> list[str]:
        return [event.event_type for event in self.repo.history(self.name, memory_id)]

    def event(self, memory_id: UUID, kind: str) -> Event:
        """The only one of its kind."""
        [found] = [e for e in self.repo.history(self.name, memory_id) if e.event_type == kind]
        return found

    def recalled(self, as_of: datetime | None = None) -> list[str]:
        hits = self.repo.search(self.name, NORTH, k=100, touch=False, as_of=as_of)
        return sorted(contents(hits))

    def put(self, memory_id: UUID, **columns: Any) -> None:
        """Changes a memory behind the repository's back."""
        changes = ", ".join(f"{column} = :{column}" for column in columns)
        self.sql(
            f"UPDATE pgrecall.agent_memories SET {changes} WHERE agent_id = :agent AND id = :id",
            id=UUID(int=memory_id.int),
            **columns,
        )

    def sql(self, statement: str, **parameters: Any) -> list[Any]:
        """Runs a statement with :agent; returns rows, or of one column its values."""
        given = {"agent": self.stored_id, **parameters}
        bind = self.bind
        with bind.begin() if isinstance(bind, Engine) else nullcontext(bind) as connection:
            result = connection.execute(text(statement), given)
            rows = [tuple(row) for row in result] if result.returns_rows else []
        return [row[0] if len(row) == 1 else row for row in rows]

    def rows(self, table: str) -> list[str]:
        return self.sql(
            f"SELECT to_jsonb(t)::text FROM pgrecall.{table} t WHERE agent_id = :agent ORDER BY 1"
        )

    def everything(self) -> dict[str, list[str]]:
        """All that is stored, but for the log of maintenance."""
        return {table: self.rows(table) for table in TABLES if table != "maintenance_runs"}


def plain(content: str, **fields: Any) -> NewMemory:
    return NewMemory(content, **{"embedding": None, **fields})


def north(content: str, **fields: Any) -> NewMemory:
    return NewMemory(content, **{"embedding": NORTH, **fields})
