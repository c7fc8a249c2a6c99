"""The repositories: thin, they only carry out what the operations ask for."""

from pgrecall.execution.repositories import AsyncMemoryRepository, MemoryRepository

__all__ = ["AsyncMemoryRepository", "MemoryRepository"]
