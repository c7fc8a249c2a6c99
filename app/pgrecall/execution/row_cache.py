"""The rows of statements that an engine keeps for some seconds."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from pgrecall.core.steps import Keep, Run

TTL_SECONDS = 5.0
MAX_ENTRIES = 10_000
"""Maximum number of cached statements of one engine. Beyond it, the cache is cleared."""

_caches: WeakKeyDictionary[Engine, dict[Any, tuple[float, Any]]] = WeakKeyDictionary()


def cached_rows(engine: Engine, step: Run, keep: Keep) -> Any | None:
    """The rows if they are known and less than TTL_SECONDS old, or those to keep in their place."""
    entries = _caches.setdefault(engine, {})
    if keep.anew:
        entries.clear()
    if keep.rows is not None:
        cache_rows(engine, step, keep.rows)
    at, rows = entries.get(_key(step), (0.0, None))
    return rows if time.monotonic() - at < TTL_SECONDS else None


def cache_rows(engine: Engine, step: Run, rows: Any) -> None:
    entries = _caches.setdefault(engine, {})
    if len(entries) >= MAX_ENTRIES:
        entries.clear()
    entries[_key(step)] = time.monotonic(), rows


def _key(step: Run) -> Any:
    return step.statement, repr(step.parameters)
