"""Items of LangGraph as memories and back, and their namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any, Final, Literal
from uuid import UUID

from langgraph.store import base

from pgrecall.core.ids import id_of_key
from pgrecall.core.limits import is_storable
from pgrecall.core.memory import UNSET, Memory, NewMemory
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_count, require_text, require_texts
from pgrecall.errors import InputError
from pgrecall.execution.repository_pair import RepositoryPair
from pgrecall.memories.item_rules import CONTENT_TYPE, NOT_INDEXED, item_key, texts_in

Namespace = tuple[str, ...]
IS_ITEM: Final = {"content_type": CONTENT_TYPE}
"""The filter for all items."""


class FoundItems(list[base.SearchItem]):
    """The items of a search."""

    is_relevant: bool | None
    """False: nothing on this subject was found, and these are only the nearest. None: there was no
    query, or the profile has no floor of relevance."""

    def __init__(self, found: Iterable[base.SearchItem], *, is_relevant: bool | None) -> None:
        super().__init__(found)
        self.is_relevant = is_relevant


@dataclass(frozen=True, slots=True)
class Items:
    """The rule by which items are memories: of the agent that their first labels name."""

    labels: int
    """The number of labels that name the agent."""
    prefix: str
    """The beginning of the ids of all these agents."""
    fields: Sequence[str] | None
    """The paths whose texts are the content; None for all texts and numbers."""
    either: RepositoryPair
    """The repository with the memories."""

    def __post_init__(self) -> None:
        require_count("owner_labels", self.labels, at_least=1, at_most=100)
        require_text("owner_prefix", self.prefix)
        require_texts("fields", self.fields)

    def owner(self, namespace: Namespace) -> str:
        """The agent that has the items of a namespace."""
        if not namespace:
            raise base.InvalidNamespaceError("the namespace of an item cannot be empty")
        return self.beginning(namespace)

    def beginning(self, prefix: Namespace) -> str:
        """The beginning of the ids of agents whose namespaces begin with `prefix`."""
        for label in prefix:
            if not is_storable(label) or not label or "." in label:
                raise base.InvalidNamespaceError(
                    "the labels of a namespace must be texts without a dot, a NUL or a lone "
                    f"surrogate, and not empty; got {shortened(label)}"
                )
        return self.prefix + ".".join(prefix[: self.labels])

    def has_below(self, owner: str, prefix: Namespace) -> bool:
        """True if an agent may have namespaces that begin with `prefix`."""
        return tuple(owner[len(self.prefix) :].split("."))[: len(prefix)] == prefix

    def condition(self, prefix: Namespace) -> dict[str, Any]:
        """The filter for an agent's items in namespaces that begin with `prefix`."""
        places = range(self.labels, len(prefix))
        return IS_ITEM | {f"metadata.namespace.{place}": prefix[place] for place in places}

    def address(self, op: base.GetOp | base.PutOp) -> tuple[str, UUID]:
        """The agent of an item, and the id of its memory."""
        owner = self.owner(op.namespace)
        return owner, id_of_key(self.either.prefix + owner, self._key(op))

    def memory(self, op: base.PutOp) -> tuple[str, NewMemory]:
        """The agent of a new item, and its memory."""
        owner, value = self.owner(op.namespace), dict(op.value or {})
        embedded = _texts(value, self.fields if op.index is None else op.index)
        texts = [text for text in embedded if text.strip()]
        lasts = {} if op.ttl is None else {"ttl_minutes": op.ttl}
        return owner, NewMemory(
            "\n".join(texts) or NOT_INDEXED,
            key=self._key(op),
            embedding=UNSET if texts and self.either.embedder is not None else None,
            content_type=CONTENT_TYPE,
            metadata={"namespace": op.namespace, "key": op.key, "value": value} | lasts,
            expires_at=None if op.ttl is None else expiry(op.ttl),
        )

    def _key(self, op: base.GetOp | base.PutOp) -> str:
        return item_key(op.namespace[self.labels :], op.key)


def _texts(value: Any, fields: Sequence[str] | Literal[False] | None) -> Iterator[str]:
    """The texts of these fields; without a choice, all texts and numbers."""
    if fields is None:
        yield from texts_in(value)
    for field in fields or ():
        yield from base.get_text_at_path(value, field)


def expiry(minutes: float) -> datetime:
    """The time in this many minutes."""
    try:
        return datetime.now(UTC) + timedelta(minutes=minutes)
    except (OverflowError, TypeError, ValueError):
        raise InputError(f"ttl must be a number of minutes, got {shortened(minutes)}") from None


def is_item(memory: Memory) -> bool:
    """True if a memory is an item that a search could return."""
    return (
        memory.content_type == CONTENT_TYPE
        and memory.status == "active"
        and memory.invalidated_at is None
        and (memory.expires_at is None or memory.expires_at > datetime.now(UTC))
    )


def fields(memory: Memory) -> dict[str, Any]:
    """The arguments of Item and SearchItem."""
    return {
        "namespace": tuple(memory.metadata["namespace"]),
        "key": memory.metadata["key"],
        "value": memory.metadata["value"],
        "created_at": memory.created_at or memory.updated_at,
        "updated_at": memory.updated_at,
    }


def fixed_labels(matches: Sequence[base.MatchCondition]) -> Namespace:
    """Labels that all namespaces which match begin with."""
    prefixes = (match.path for match in matches if match.match_type == "prefix")
    return max((tuple(takewhile("*".__ne__, path)) for path in prefixes), key=len, default=())


def matching(match: base.MatchCondition, namespace: Namespace) -> bool:
    """True if a namespace begins or ends as `match` requires; "*" is any label."""
    if match.match_type not in ("prefix", "suffix"):
        raise InputError(f"match_type must be prefix or suffix, got {match.match_type!r}")
    step = 1 if match.match_type == "prefix" else -1
    pairs = zip(match.path[::step], namespace[::step], strict=False)
    return len(match.path) <= len(namespace) and all(one in ("*", label) for one, label in pairs)
