"""The asynchronous repository with its methods and namespaces."""

from __future__ import annotations

from pgrecall.execution import asynchronous
from pgrecall.execution.repositories import Methods


class AsyncMemoryRepository(Methods, asynchronous.Repository):
    """Stores and ranks the memories of agents, with the methods of MemoryRepository as coroutines.

    Works on an AsyncEngine, an AsyncConnection or an AsyncSession, under the same rules. An
    embedder with `aembed_documents` and `aembed_query` is awaited; any other runs in a thread.
    """
