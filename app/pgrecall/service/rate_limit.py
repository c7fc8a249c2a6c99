"""Limits how often somebody may do something: one token bucket each."""

from __future__ import annotations

import time
from collections.abc import Hashable

MOST = 10_000
"""The most callers remembered. Beyond it, those whose bucket is full again are forgotten."""


class Buckets:
    """Token buckets that fill at `rate` per second, up to two seconds' worth, at least one."""

    def __init__(self, rate: float) -> None:
        self._rate, self._size = rate, max(1.0, 2 * rate)
        self._full_at: dict[Hashable, float] = {}

    def wait(self, caller: Hashable) -> float:
        """Takes one token. 0 if there was one, else the seconds until there will be one."""
        now = time.monotonic()
        full_at = max(self._full_at.get(caller, now), now) + 1 / self._rate
        missing = (full_at - now) - self._size / self._rate
        if missing > 1e-9:
            return missing
        if len(self._full_at) >= MOST:
            self._full_at = {one: at for one, at in self._full_at.items() if at > now}
        self._full_at[caller] = full_at
        return 0.0
