"""A cache of lookups."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from pgrecall.core.steps import Lookup

SECONDS = 5.0
MOST = 10_000
"""The most lookups cached for one engine. Beyond it, the cache is cleared."""

_caches: WeakKeyDictionary[Engine, dict[Any, tuple[float, Any]]] = WeakKeyDictionary()


def cached(engine: Engine, step: Lookup) -> Any | None:
    """The cached rows if they are less than SECONDS old. A step with `refresh` clears the cache."""
    lookups = _caches.setdefault(engine, {})
    if step.refresh:
        lookups.clear()
        return None
    at, rows = lookups.get(_key(step), (0.0, None))
    return rows if time.monotonic() - at < SECONDS else None


def cache(engine: Engine, step: Lookup, rows: Any) -> None:
    lookups = _caches.setdefault(engine, {})
    if len(lookups) >= MOST:
        lookups.clear()
    lookups[_key(step)] = time.monotonic(), rows


def _key(step: Lookup) -> Any:
    values = (tuple(v) if isinstance(v, list) else v for v in step.parameters.values())
    return step.statement, *step.parameters, *values
