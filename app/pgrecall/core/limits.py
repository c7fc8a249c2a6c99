"""What a value may be; the CHECK constraints and the checks in Python hold the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime

MAX_CONTENT_BYTES = 2 * 1024 * 1024
MAX_NAME_LENGTH = 200
"""Characters, of agent_id and every other short text."""
MAX_TURN = 2_147_483_647

STATUSES = ("active", "consolidated", "completed", "archived")
TIERS = ("short", "medium", "long")
TRUST_CURVES = ("hyperbolic", "exponential", "linear")
INVALIDATION_REASONS = ("superseded", "forgotten")
LABEL_KINDS = ("keyword", "tag", "concept", "component")

EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""The moments that a datetime can hold in any time zone."""
MAX_FILTER_TEXT = 10_000
"""Characters of the filter by text."""
SMALLEST_SHARE = 1e-100
"""A share is 0 or at least this: products of smaller numbers underflow, which is an error."""
MAX_QUERY_ENTITIES = 32
"""As many as the SQL function writes out."""

_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


def is_storable(value: object) -> bool:
    """Whether it is a text that PostgreSQL can hold: without NUL and lone surrogates."""
    return isinstance(value, str) and _UNSTORABLE.search(value) is None
