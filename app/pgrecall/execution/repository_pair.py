"""Runs one series of calls on the synchronous or on the asynchronous repository."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import Table

from pgrecall.errors import InputError
from pgrecall.execution import asynchronous, synchronous
from pgrecall.memories.listing import MOST

T = TypeVar("T")

Call = Callable[[Any], Any]
"""Calls a method of the repository that it is given."""
Calls = Generator[Call, Any, T]
"""Yields calls and is sent their results."""


def call(method: str, *arguments: Any, **named: Any) -> Call:
    """A call of the method of this name, such as "links.add"."""
    reached = attrgetter(method)
    return lambda repository: reached(repository)(*arguments, **named)


def all_pages(method: str, *arguments: Any, most: int | None = None, **named: Any) -> Calls[Any]:
    """All rows of a method that lists pages, or the first `most` of them."""
    entries: list[Any] = []
    after: str | None = None
    while True:
        limit = MOST if most is None else min(most - len(entries), MOST)
        page = yield call(method, *arguments, limit=limit, after=after, **named)
        entries += page
        after = page.next
        if after is None or len(entries) == most:
            return entries


class RepositoryPair:
    """One repository or one of each kind.

    Without an asynchronous repository, asynchronous calls run in a thread. Without a synchronous
    one, synchronous calls are refused. Raises InputError for anything else.
    """

    def __init__(self, repositories: Iterable[object], name: str) -> None:
        self._sync: synchronous.Repository | None = None
        self._async: asynchronous.Repository | None = None
        self._name = name
        for repository in repositories:
            if isinstance(repository, synchronous.Repository) and self._sync is None:
                self._sync = repository
            elif isinstance(repository, asynchronous.Repository) and self._async is None:
                self._async = repository
            else:
                raise InputError(
                    f"{name} takes a MemoryRepository, an AsyncMemoryRepository or one of each, "
                    f"got {type(repository).__name__}"
                )
        one = self._sync or self._async
        if one is None:
            raise InputError(f"{name} needs a MemoryRepository or an AsyncMemoryRepository")
        if self._async is not None and self._async._tables != one._tables:
            raise InputError(
                f"{name}: both repositories need one schema, and both teams or neither"
            )
        self._one = one

    @property
    def prefix(self) -> str:
        """The beginning of the stored ids of owners: that of teams, or empty."""
        return self._one._tables.prefix

    @property
    def memories(self) -> Table:
        """The table of memories."""
        return self._one.memories

    @property
    def embedder(self) -> Any:
        """The embedder of both repositories; None if they have none."""
        return self._one._tools.embedder

    def run(self, calls: Calls[T]) -> T:
        if self._sync is None:
            raise InputError(
                f"{self._name} has only an AsyncMemoryRepository: use its asynchronous methods, or "
                "give it a MemoryRepository too"
            )
        reply: Any = None
        while True:
            try:
                step = calls.send(reply)
            except StopIteration as done:
                result: T = done.value
                return result
            reply = step(self._sync)

    async def arun(self, calls: Calls[T]) -> T:
        if self._async is None:
            return await asyncio.to_thread(self.run, calls)
        reply: Any = None
        while True:
            try:
                step = calls.send(reply)
            except StopIteration as done:
                result: T = done.value
                return result
            reply = await step(self._async)
