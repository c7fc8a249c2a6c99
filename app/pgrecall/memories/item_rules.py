"""The rules by which items of LangGraph are memories, as far as they need no LangGraph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from pgrecall.core.limits import MAX_NAME_LENGTH, is_storable

CONTENT_TYPE = "langgraph item"
"""The `content_type` of memories that are items."""
NOT_INDEXED = "…"
"""The content of an item without a text: no word, so that no query finds it."""
OWNER_LABELS = 2
"""The number of labels of a namespace that name the agent, unless it is chosen."""


def item_key(rest: Sequence[str], key: str) -> str:
    """The key of the memory: the item's where possible. Others begin with a bracket.

    `rest` are the labels of the namespace behind those that name the agent."""
    is_own = key and not rest and key[0] != "[" and is_storable(key)
    name = key if is_own else json.dumps([*rest, key])
    return name if len(name) <= MAX_NAME_LENGTH else f"[{sha256(name.encode()).hexdigest()}"


def texts_in(value: Any) -> Iterator[str]:
    """All texts and numbers in a JSON value."""
    if isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(part)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
