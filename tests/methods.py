"""The public methods of a repository, by the names that users call them by: add, links.add."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository
from pgrecall.execution.method import Namespace

_NOWHERE = "postgresql+psycopg://nobody@127.0.0.1:1/none"
NOWHERE = MemoryRepository(create_engine(_NOWHERE))
"""On a server that is not there: what is checked before it is asked is checked at no cost."""
NOWHERE_LATER = AsyncMemoryRepository(create_async_engine(_NOWHERE))


def method(repository: Any, name: str) -> Any:
    """The method of this name."""
    return attrgetter(name)(repository)


def public(repository: Any) -> list[str]:
    """The names of all methods."""
    found = []
    for name in dir(type(repository)):
        if name.startswith("_") or name in ("memories", "teams", "primary"):
            continue
        part = getattr(repository, name)
        if isinstance(part, Namespace):
            found += [f"{name}.{one}" for one in public(part)]
        else:
            found.append(name)
    return found
