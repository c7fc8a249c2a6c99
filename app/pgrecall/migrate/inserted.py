"""Limits and known words that files of `sql/` name between two @: `@MAX_VALUES@`.

`@MAX_VALUES,@` is the same as people read it: 1,000.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, get_args

from pgrecall.core import limits
from pgrecall.core.tokens import PIECES
from pgrecall.lifecycle import consolidating
from pgrecall.lifecycle.retention import LEAST_AGE
from pgrecall.lifecycle.using import Feedback, Outcome
from pgrecall.memories.embed import DuplicatePolicy
from pgrecall.rank_index import strategy
from pgrecall.rank_index.index import EF_CONSTRUCTION, LARGE, LEVELS, M_OF_LARGE, MEASURED_HITS, M
from pgrecall.rank_index.space import (
    AXES_STEP,
    KEPT,
    MOST_AXES,
    REST,
    SIGNAL_AXES,
    VERSION,
)
from pgrecall.scoring.signals import LONGEST_HALF_LIFE, SHORTEST_HALF_LIFE

_LIMITS: Mapping[str, Any] = {
    **{name: one for name, one in vars(strategy).items() if name.isupper()},
    **vars(limits),
    "DUPLICATES": get_args(DuplicatePolicy),
    "OUTCOMES": get_args(Outcome),
    "FEEDBACK": get_args(Feedback),
    "MAX_CURATED": consolidating.MOST,
    "LEAST_AGE": LEAST_AGE,
    "AXES_STEP": AXES_STEP,
    "MOST_AXES": MOST_AXES,
    "KEPT": KEPT,
    "SIGNAL_AXES": SIGNAL_AXES,
    "REST": REST,
    "SPACE": VERSION,
    "M": M,
    "LARGE": LARGE,
    "M_OF_LARGE": M_OF_LARGE,
    "EF_CONSTRUCTION": EF_CONSTRUCTION,
    "LEVELS": [*map(str, LEVELS)],
    "MEASURED_HITS": MEASURED_HITS,
    "PIECES": PIECES,
    "SHORTEST_HALF_LIFE": SHORTEST_HALF_LIFE,
    "LONGEST_HALF_LIFE": LONGEST_HALF_LIFE,
    "LONGEST_HOURS": limits.LONGEST_DURATION // timedelta(hours=1),
}
_LIMIT = re.compile(r"@([A-Z_]+)(,?)@")


def with_inserted(text: str) -> str:
    """The text of a file with what it names between two @."""
    return _LIMIT.sub(_limit, text)


def _limit(match: re.Match[str]) -> str:
    value = _LIMITS[match[1]]
    match value:
        case int():
            return f"{value:,}" if match[2] else str(value)
        case float():
            return f"{value:g}" if match[2] else f"{value!r}::float8"
        case str():
            return "E'" + "".join(f"\\u{ord(one):04x}" for one in value) + "'"
        case datetime():
            return f"{value.date()}" if match[2] else f"'{value.isoformat()}'"
        case timedelta():
            return f"{value.days:,}" if match[2] else f"'{value.days} days'"
    return f"'{{{','.join(value)}}}'"
