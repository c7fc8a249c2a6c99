"""The repositories: thin, they only carry out what the operations ask for."""

from pgrecall.repository.asynchronous import AsyncMemoryRepository
from pgrecall.repository.synchronous import MemoryRepository

__all__ = ["AsyncMemoryRepository", "MemoryRepository"]
