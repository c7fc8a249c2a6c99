"""Ids of memories and events, made by the client."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import time
from uuid import UUID

_guard = threading.Lock()
_last = 0
if hasattr(os, "register_at_fork"):  # a forked child must not inherit a locked lock
    os.register_at_fork(
        before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_guard.release
    )


def new_id() -> UUID:
    """A UUID of version 7 that sorts after all ids this process has made before.

    So new rows lie together in the index. The id consists of milliseconds (48 bits), 1/4096 ms
    (12 bits) and 62 random bits. If the clock stands still or goes back, the last time is
    incremented by 1/4096 ms instead.
    """
    global _last
    now = (time.time_ns() << 12) // 1_000_000
    with _guard:
        _last = ticks = max(now, _last + 1)
    milliseconds, fraction = divmod(ticks, 1 << 12)
    version, variant = 7 << 76, 2 << 62
    return UUID(int=milliseconds << 80 | version | fraction << 64 | variant | secrets.randbits(62))


def id_of_key(owner_id: str, key: str) -> UUID:
    """The id for a caller's key: the same owner and key always give the same id.

    It is a UUID of version 8, made from the first half of a SHA-256. The SQL function id_of_key
    computes the same.
    """
    digest = hashlib.sha256(f"pgrecall key {owner_id}\n{key}".encode()).digest()
    number = int.from_bytes(digest[:16])
    return UUID(int=number & ~(0xF << 76) & ~(0x3 << 62) | 8 << 76 | 2 << 62)
