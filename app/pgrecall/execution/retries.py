"""Retries after deadlocks and serialization failures, and of reads whose connection was lost."""

from __future__ import annotations

import random
from typing import Any

from pgrecall.errors import DatabaseConflict, DatabaseUnavailable
from pgrecall.execution.invocation import Invocation

MAX_ATTEMPTS = 6


def pause(call: Invocation[Any], error: DatabaseConflict | DatabaseUnavailable) -> float | None:
    """Seconds until the call is attempted again; None if it is not."""
    if isinstance(error, DatabaseUnavailable):
        reads = call.only_reads and call.may_retry and not call.counts
        return 0.0 if call.ours and reads and call.is_connected and call.attempts == 1 else None
    if not call.may_retry or call.attempts >= (MAX_ATTEMPTS if call.ours else 2):
        return None
    # Random, so that rivals do not meet again.
    return random.uniform(0, 0.01 * 2 ** (call.attempts + 1))
