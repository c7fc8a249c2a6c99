"""Looks up the keys of requests."""

from __future__ import annotations

import asyncio
import time

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall.execution.translation import translated
from pgrecall.migrate.service_keys import matches
from pgrecall.schema import tables
from pgrecall.service.bearer import Key

MOST = 10_000
"""The most keys cached. Beyond it, the cache is cleared."""


class KeyRing:
    """The keys in use, each cached for some seconds.

    Only one is looked up at a time, so that somebody who tries many does not take the connection
    of those who ask for readiness.
    """

    def __init__(self, engine: AsyncEngine, schema: str, seconds: float) -> None:
        self._engine, self._seconds = engine, seconds
        keys = tables(schema).service_keys.c
        in_use = (keys.id == bindparam("id")) & keys.revoked_at.is_(None)
        self._query = select(keys.hash, keys.owners, keys.scope).where(in_use)
        self._turn = asyncio.Semaphore(1)
        self._cached: dict[str, tuple[float, bytes, Key]] = {}

    async def key(self, key_id: str, secret: str) -> Key | None:
        """The key of this id if this is its secret and it is in use."""
        found = self._cached.get(key_id)
        if found is None or found[0] < time.monotonic():
            async with self._turn:
                found = await self._read(key_id)
        _, stored, key = found or (0.0, None, None)
        return key if matches(secret, stored) else None

    async def _read(self, key_id: str) -> tuple[float, bytes, Key] | None:
        with translated():
            async with self._engine.connect() as connection:
                row = (await connection.execute(self._query, {"id": key_id})).first()
        self._cached.pop(key_id, None)
        if row is None:
            return None
        if len(self._cached) >= MOST:
            self._cached.clear()
        until = time.monotonic() + self._seconds
        self._cached[key_id] = until, row.hash, Key(key_id, tuple(row.owners), row.scope)
        return self._cached[key_id]
