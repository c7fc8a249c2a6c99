"""Ids of memories and events, made by the client."""

from __future__ import annotations

import sys
from uuid import UUID, uuid5

if sys.version_info >= (3, 14):
    from uuid import uuid7
else:
    from uuid_utils.compat import uuid7


def new_id() -> UUID:
    """A UUID of version 7: ids made later sort later, so new rows lie together."""
    return uuid7()


_KEYS = UUID("0d1f9a52-7c55-4c5e-8f4e-3a1d7f6b2c90")


def id_of_key(owner_id: str, key: str) -> UUID:
    """The id that belongs to a caller's key: the same key of the same owner gives the same id."""
    return uuid5(_KEYS, f"{owner_id}\n{key}")
