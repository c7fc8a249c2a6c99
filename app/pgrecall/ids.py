"""Ids of memories and events, made by the client."""

from __future__ import annotations

import sys
from uuid import UUID

if sys.version_info >= (3, 14):
    from uuid import uuid7
else:
    from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A UUID of version 7: ids made later sort later, so new rows lie together."""
    return uuid7()
