"""What the tests of the repository share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from math import cos, radians, sin
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Engine, text

from pgrecall import AsyncMemoryRepository, Memory, MemoryRepository, ScoredMemory
from pgrecall.execution.method import Namespace
from tests.conftest import DIMENSIONS

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
NORTH = [1.0, *[0.0] * (DIMENSIONS - 1)]


def shown(value: object) -> str:
    """A value in a test's name, the same in every process: without addresses, sets in order."""
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def in_full(value: object) -> str:
    """A value with all that is in it, of which `repr` shows only the beginning."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{one.name}={in_full(getattr(value, one.name))}" for one in fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{in_full(k)}: {in_full(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        slots = {name: getattr(value, name) for name in getattr(value, "__slots__", ())}
        return f"{type(value).__name__}[{', '.join(map(in_full, value))}]{slots or ''}"
    return repr(value)


def at(degrees: float) -> list[float]:
    """A unit vector whose cosine similarity to NORTH is cos(degrees)."""
    return [cos(radians(degrees)), sin(radians(degrees)), *[0.0] * (DIMENSIONS - 2)]


def similar(share: float) -> list[float]:
    """A unit vector whose cosine similarity to NORTH is this."""
    return [share, (1 - share**2) ** 0.5, *[0.0] * (DIMENSIONS - 2)]


def before(days: float) -> datetime:
    return NOW - timedelta(days=days)


def contents(hits: Iterable[ScoredMemory]) -> list[str]:
    return [hit.memory.content for hit in hits]


def sql(engine: Engine, statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Runs one statement in a transaction of its own."""
    with engine.begin() as connection:
        result = connection.execute(text(statement), parameters)
        return [tuple(row) for row in result] if result.returns_rows else []


def hurried(engine: Engine, limit: str) -> str:
    """Options of a session whose statements, waits for locks and transactions have this limit."""
    known = sql(
        engine,
        "SELECT name FROM pg_settings WHERE name = ANY (:names) ORDER BY name",
        names=["lock_timeout", "statement_timeout", "transaction_timeout"],  # since PostgreSQL 17
    )
    return " ".join(f"-c {name}={limit}" for (name,) in known)


def read(repo: MemoryRepository, owner: str, memory_id: UUID, **options: Any) -> Memory:
    """A memory that has to be there."""
    memory = repo.get(owner, memory_id, **options)
    assert memory is not None
    return memory


def stored(engine: Engine, agent_id: str) -> int:
    [(rows,)] = sql(
        engine,
        "SELECT count(*) FROM pgrecall.agent_memories WHERE agent_id = :agent",
        agent=agent_id,
    )
    return int(rows)


class _Awaited:
    def __init__(
        self,
        repository: AsyncMemoryRepository | Namespace[Any],
        wait: Callable[[Coroutine[Any, Any, Any]], Any],
    ) -> None:
        self._repository, self._wait = repository, wait

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._repository, name)
        if isinstance(attribute, AsyncMemoryRepository | Namespace):  # that of teams, or links
            return awaited(attribute, self._wait)
        if not inspect.iscoroutinefunction(attribute):
            return attribute
        return lambda *args, **kwargs: self._wait(attribute(*args, **kwargs))


def awaited(
    repository: AsyncMemoryRepository | Namespace[Any],
    wait: Callable[[Coroutine[Any, Any, Any]], Any],
) -> MemoryRepository:
    """An asynchronous repository behind the methods of the synchronous one."""
    return cast(MemoryRepository, _Awaited(repository, wait))


def nested(levels: int) -> dict[str, Any]:
    """An object with so many levels of objects and lists."""
    value: dict[str, Any] = {"a": 1}
    for _ in range((levels - 1) // 2):
        value = {"a": [value]}
    return value if levels % 2 else {"a": value}
