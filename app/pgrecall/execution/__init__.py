"""The repositories, which execute the steps of operations."""

from typing import TYPE_CHECKING, Any

from pgrecall.execution import repositories
from pgrecall.execution.repositories import MemoryRepository

if TYPE_CHECKING:
    from pgrecall.execution.repositories import AsyncMemoryRepository

__all__ = ["AsyncMemoryRepository", "MemoryRepository"]


def __getattr__(name: str) -> Any:
    """AsyncMemoryRepository, imported when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(repositories, name)
