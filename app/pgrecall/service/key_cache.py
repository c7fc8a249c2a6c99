"""Looks up the keys of requests."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall.core.time_limit import TookTooLong, within
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.service_keys import SCOPES, Scope, matches
from pgrecall.schema import tables
from pgrecall.service.problems import Problem


@dataclass(frozen=True, slots=True)
class Key:
    """The rights of a request."""

    id: str
    owners: tuple[str, ...] | None
    """Owners as stored; a team is team:<id>. None: all, in a service without keys."""
    scope: Scope

    def may(self, scope: Scope) -> bool:
        return SCOPES.index(scope) <= SCOPES.index(self.scope)

    def owns(self, owner: str) -> bool:
        return self.owners is None or owner in self.owners


OPEN = Key("", None, "maintain")
"""The key of every request to a service without keys."""


MOST = 10_000
"""The most keys cached. Beyond it, the cache is cleared."""
LOOKUP_SECONDS = 2.0
"""The most that a lookup may take, waiting for others included."""


@dataclass(frozen=True, slots=True)
class _Cached:
    key: Key
    hash: bytes
    until: float


class KeyRing:
    """The keys in use, each cached for some seconds.

    Only one is looked up at a time, so that somebody who tries many does not take the connection
    of those who ask for readiness. A lookup that hangs is given up, and its connection closed.
    """

    def __init__(self, engine: AsyncEngine, schema: str, seconds: float) -> None:
        self._engine, self._seconds = engine, seconds
        keys = tables(schema).service_keys.c
        in_use = (keys.id == bindparam("id")) & keys.revoked_at.is_(None)
        self._query = select(keys.hash, keys.owners, keys.scope).where(in_use)
        self._turn = asyncio.Semaphore(1)
        self._cached: dict[str, _Cached] = {}

    async def key(self, key_id: str, secret: str, seconds: float) -> Key | None:
        """The key of this id if this is its secret and it is in use.

        Raises Problem or DatabaseUnavailable if it cannot be looked up in so many seconds.
        """
        cached = self._fresh(key_id)
        if cached is None:
            try:
                cached = await within(min(seconds, LOOKUP_SECONDS), self._looked_up(key_id))
            except TookTooLong:
                late = "the key cannot be looked up: the database does not answer"
                raise Problem(503, late, retry_after=1) from None
        stored, key = (cached.hash, cached.key) if cached else (None, None)
        return key if matches(secret, stored) else None

    def _fresh(self, key_id: str) -> _Cached | None:
        cached = self._cached.get(key_id)
        return cached if cached and time.monotonic() <= cached.until else None

    async def _looked_up(self, key_id: str) -> _Cached | None:
        async with self._turn:
            return self._fresh(key_id) or await self._read(key_id)

    async def _read(self, key_id: str) -> _Cached | None:
        until = time.monotonic() + self._seconds
        with map_errors():
            async with self._engine.connect() as connection:
                row = (await connection.execute(self._query, {"id": key_id})).first()
        self._cached.pop(key_id, None)
        if row is None:
            return None
        if len(self._cached) >= MOST:
            self._cached.clear()
        key = Key(key_id, tuple(row.owners), row.scope)
        self._cached[key_id] = read = _Cached(key, row.hash, until)
        return read
