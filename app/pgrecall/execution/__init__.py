"""The repositories, which execute the steps of operations."""

from pgrecall.execution.repositories import AsyncMemoryRepository, MemoryRepository

__all__ = ["AsyncMemoryRepository", "MemoryRepository"]
