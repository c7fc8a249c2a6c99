"""Ids of memories and events, made by the client."""

from __future__ import annotations

import os
import secrets
import threading
import time
from uuid import UUID, uuid5

_guard = threading.Lock()
_last = 0
if hasattr(os, "register_at_fork"):  # a child must not inherit the lock while another holds it
    os.register_at_fork(
        before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_guard.release
    )


def new_id() -> UUID:
    """A UUID of version 7, which sorts after all that this process made before.

    New rows so lie together. It is milliseconds (48 bits), 4096ths of one (12) and 62 random bits;
    when the clock stands still or goes back, the count of 4096ths goes on.
    """
    global _last
    now = (time.time_ns() << 12) // 1_000_000
    with _guard:
        _last = ticks = max(now, _last + 1)
    milliseconds, fraction = divmod(ticks, 1 << 12)
    version, variant = 7 << 76, 2 << 62
    return UUID(int=milliseconds << 80 | version | fraction << 64 | variant | secrets.randbits(62))


_KEYS = UUID("0d1f9a52-7c55-4c5e-8f4e-3a1d7f6b2c90")


def id_of_key(owner_id: str, key: str) -> UUID:
    """The id that belongs to a caller's key: the same key of the same owner gives the same id."""
    return uuid5(_KEYS, f"{owner_id}\n{key}")
