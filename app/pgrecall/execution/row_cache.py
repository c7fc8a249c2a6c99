"""The rows of statements that an engine keeps for some seconds."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from pgrecall.core.steps import Keep, Run

TTL_SECONDS = 5.0
MAX_ENTRIES = 10_000
"""Maximum number of cached statements of one engine. Beyond it, the cache is cleared."""

_caches: WeakKeyDictionary[Engine, dict[Any, tuple[float, Any]]] = WeakKeyDictionary()


def kept(engine: Engine, step: Run, keep: Keep) -> Generator[Run, Any, Any]:
    """The rows if they are known and less than TTL_SECONDS old, or else those of the statement."""
    entries = _caches.setdefault(engine, {})
    if keep.anew:
        entries.clear()
    key = step.statement, repr(step.parameters)
    at, rows = entries.get(key, (0.0, None))
    if keep.outdated is not None:
        if rows is not None and keep.outdated(rows):
            del entries[key]
        return rows
    if keep.rows is not None:
        rows = keep.rows
    elif rows is not None and time.monotonic() - at < TTL_SECONDS:
        return rows
    else:
        rows = yield step
    if len(entries) >= MAX_ENTRIES:
        entries.clear()
    entries[key] = time.monotonic(), rows
    return rows
