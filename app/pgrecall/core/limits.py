"""Limits of stored values, shared by the checks in Python and the CHECK constraints."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

MAX_CONTENT_BYTES = 2 * 1024 * 1024
MAX_NAME_LENGTH = 200
"""In characters, for agent_id and every other short text."""
MAX_TEXT_LENGTH = 500_000
"""In characters, for each text of a memory that has no other limit."""
MAX_QUERY_LENGTH = 200_000
"""In characters, for the text of a query."""
MAX_VALUES = 1_000
"""Of each list of a memory or a filter."""
MAX_METADATA = 8 * 1024 * 1024
"""Of a memory or an event, as JSON."""
MAX_DEPTH = 32
"""Levels of lists and objects in metadata. What was stored before may have more."""
MAX_CONDITIONS = 200
"""Of a filter."""
MAX_FILTER_VALUES = 10_000
"""Of all lists of a filter together."""
MAX_FILTER_DEPTH = 8
"""Levels of $and, $or and $not in a filter."""
MAX_SURROUNDING_TURNS = 10
"""Turns on each side of a hit."""
MAX_CONSIDERED = 500
"""The greatest `fetch_k` of a context, since every pair may have to be compared."""
LEAST_COMPARED, COMPARED_PER_HIT = 50, 5
"""With `diversity`, a search chooses its k hits among so many of the best: k times the second, at
least the first, and at most MAX_CONSIDERED."""
MAX_BATCH = 100_000
"""In memories, of a job that works in batches."""
MAX_TURN = 2_147_483_647

STATUSES = ("active", "pending", "consolidated", "completed", "archived")
TIERS = ("short", "medium", "long")
TRUST_CURVES = ("hyperbolic", "exponential", "linear")
INVALIDATION_REASONS = ("superseded", "forgotten")
NAME_KINDS = ("entity", "subject", "alias")

EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""The earliest and latest moments that a datetime can hold in every time zone."""
LONGEST_DURATION = timedelta(days=365_250)
MAX_FILTER_TEXT = 10_000
"""In characters, for each text in a filter."""
SMALLEST_SHARE = 1e-100
"""A share is 0 or at least this. Products of smaller numbers underflow, and PostgreSQL raises."""
MAX_QUERY_ENTITIES = 32
"""The SQL function entity_overlap is written out for this many."""
MAX_NAME_WORDS = 16
"""Names of more words are not found in texts."""
MAX_SHARED_FIRST = 3
"""The first word of more names than this stands for none of them."""
LEAST_FOR_MEAN = 50
"""The mean of fewer embeddings says what they are about, not what all have in common."""

BLANK = (
    "\t\n\x0b\x0c\r \u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b\u180c"
    "\u180d\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b"
    "\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u202f\u205f\u2060"
    "\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f"
    "\u3000\u3164\ufe0e\ufe0f\ufeff\uffa0"
)
"""Characters that show nothing. The SQL function is_blank has the same."""

_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


def is_blank(text: str) -> bool:
    """True if a text shows nothing: it is empty, or of spaces and zero-width characters."""
    return not text.strip(BLANK)


def is_storable(value: object) -> bool:
    """True if the value is text that PostgreSQL can store: no NUL, no lone surrogate."""
    return isinstance(value, str) and _UNSTORABLE.search(value) is None
