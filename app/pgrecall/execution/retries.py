"""When to repeat an operation that another transaction was in the way of."""

from __future__ import annotations

import random

MAX_ATTEMPTS = 6


def pause_before(attempt: int) -> float:
    """Seconds to wait before this attempt (2, 3, …), random so that rivals part."""
    return random.uniform(0, 0.01 * 2**attempt)
