"""Items of LangGraph as memories, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from langgraph.store.base import Item, PutOp, SearchItem, get_text_at_path

from pgrecall.core.memory import UNSET, Memory, NewMemory
from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError

CONTENT_TYPE = "langgraph item"
"""The `content_type` of memories that are items."""
NOT_INDEXED = "…"
"""The content of an item without a text: no word, so that no query finds it."""


def memory_of(
    op: PutOp, key: str, fields: Sequence[str] | None, *, has_embedder: bool
) -> NewMemory:
    """The memory of an item, under this key."""
    value = dict(op.value or {})
    metadata: dict[str, Any] = {"namespace": op.namespace, "key": op.key, "value": value}
    if op.ttl is not None:
        metadata["ttl_minutes"] = op.ttl
    texts = [] if op.index is False else _texts(value, fields if op.index is None else op.index)
    return NewMemory(
        "\n".join(texts) or NOT_INDEXED,
        key=key,
        embedding=UNSET if texts and has_embedder else None,
        content_type=CONTENT_TYPE,
        metadata=metadata,
        expires_at=None if op.ttl is None else expiry(op.ttl),
    )


def _texts(value: Mapping[str, Any], fields: Sequence[str] | None) -> list[str]:
    if fields is None:
        found = [*_leaves(value)]
    else:
        found = [text for field in fields for text in get_text_at_path(value, field)]
    return [text for text in found if text.strip()]


def _leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a JSON value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def expiry(minutes: float) -> datetime:
    """So many minutes from now."""
    try:
        return datetime.now(UTC) + timedelta(minutes=minutes)
    except (OverflowError, TypeError, ValueError):
        raise InputError(f"ttl must be a number of minutes, got {shortened(minutes)}") from None


def ttl_of(memory: Memory) -> float | None:
    """The time to live of an item, in minutes."""
    return memory.metadata.get("ttl_minutes")


def is_item(memory: Memory) -> bool:
    """Whether a memory is an item that a search could return."""
    return (
        memory.content_type == CONTENT_TYPE
        and memory.status == "active"
        and memory.invalidated_at is None
        and (memory.expires_at is None or memory.expires_at > datetime.now(UTC))
    )


def item(memory: Memory) -> Item:
    return Item(**_fields(memory))


def search_item(memory: Memory, score: float | None) -> SearchItem:
    return SearchItem(**_fields(memory), score=score)


def _fields(memory: Memory) -> dict[str, Any]:
    of_item = memory.metadata
    return {
        "namespace": tuple(of_item["namespace"]),
        "key": of_item["key"],
        "value": of_item["value"],
        "created_at": memory.created_at or memory.updated_at,
        "updated_at": memory.updated_at,
    }


def conditions(asked: Mapping[str, Any], path: str = "value") -> Iterator[tuple[str, Any]]:
    """LangGraph's filter on values as pgrecall's on metadata."""
    for key, value in asked.items():
        within = path + "." + str(key).replace("\\", "\\\\").replace(".", "\\.")
        if not isinstance(value, Mapping) or not value:
            yield within, {"$eq": value}
        elif any(str(name).startswith("$") for name in value):
            yield within, value
        else:
            yield from conditions(value, within)
