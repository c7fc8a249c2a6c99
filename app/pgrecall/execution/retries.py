"""Retries after deadlocks and serialization failures."""

from __future__ import annotations

import random

MAX_ATTEMPTS = 6


def pause_before(attempt: int) -> float:
    """Seconds to wait before this attempt (2, 3, …); random, so that rivals do not meet again."""
    return random.uniform(0, 0.01 * 2**attempt)
