"""The repositories: thin, they only carry out what the operations ask for."""

from pgrecall.execution.asynchronous import AsyncMemoryRepository
from pgrecall.execution.synchronous import MemoryRepository

__all__ = ["AsyncMemoryRepository", "MemoryRepository"]
