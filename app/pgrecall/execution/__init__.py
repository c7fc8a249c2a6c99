"""The repositories, which execute the steps of operations."""

from pgrecall.execution.asynchronous import AsyncMemoryRepository
from pgrecall.execution.synchronous import MemoryRepository

__all__ = ["AsyncMemoryRepository", "MemoryRepository"]
