"""Limits of stored values, shared by the checks in Python and the CHECK constraints."""

from __future__ import annotations

import re
from datetime import UTC, datetime

MAX_CONTENT_BYTES = 2 * 1024 * 1024
MAX_NAME_LENGTH = 200
"""In characters, for agent_id and every other short text."""
MAX_TURN = 2_147_483_647

STATUSES = ("active", "pending", "consolidated", "completed", "archived")
TIERS = ("short", "medium", "long")
TRUST_CURVES = ("hyperbolic", "exponential", "linear")
INVALIDATION_REASONS = ("superseded", "forgotten")
LABEL_KINDS = ("keyword", "tag", "concept", "component")

EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""The earliest and latest moments that a datetime can hold in every time zone."""
MAX_FILTER_TEXT = 10_000
"""In characters, for the filter `text`."""
SMALLEST_SHARE = 1e-100
"""A share is 0 or at least this. Products of smaller numbers underflow, and PostgreSQL raises."""
MAX_QUERY_ENTITIES = 32
"""The SQL function entity_overlap is written out for this many."""

_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


def is_storable(value: object) -> bool:
    """Whether the value is text that PostgreSQL can store: no NUL, no lone surrogate."""
    return isinstance(value, str) and _UNSTORABLE.search(value) is None
