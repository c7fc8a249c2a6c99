"""The repositories, which execute the steps of operations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pgrecall.execution.repositories import MemoryRepository

if TYPE_CHECKING:
    from pgrecall.execution.async_repository import AsyncMemoryRepository

__all__ = ["AsyncMemoryRepository", "MemoryRepository"]


def __getattr__(name: str) -> Any:
    """AsyncMemoryRepository, imported when it is first used: SQLAlchemy's asyncio and ORM take
    50 ms."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("pgrecall.execution.async_repository"), name)
