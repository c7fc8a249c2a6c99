"""The CHECK constraint of columns in [0, 1]."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
)

from pgrecall.core.limits import (
    SMALLEST_SHARE,
)
from pgrecall.schema.columns import (
    check,
)


def share_check(name: str) -> CheckConstraint:
    return check(name, f"{name} = 0 OR {name} BETWEEN '{SMALLEST_SHARE:g}'::float8 AND 1")
