"""Namespaces: which agent has their items, and which ones match."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from pgrecall.core.limits import MAX_NAME_LENGTH, is_storable
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_count, require_text
from pgrecall.errors import InputError

Namespace = tuple[str, ...]
MAX_LABELS = 100


@dataclass(frozen=True, slots=True)
class Owners:
    """The rule by which namespaces belong to agents: by their first labels."""

    labels: int
    """How many labels name the agent."""
    prefix: str
    """What the ids of all these agents begin with."""

    def __post_init__(self) -> None:
        require_count("owner_labels", self.labels, at_least=1, at_most=MAX_LABELS)
        require_text("owner_prefix", self.prefix)

    def owner(self, namespace: Namespace) -> str:
        """The agent that has the items of a namespace."""
        if not namespace:
            raise InvalidNamespaceError("the namespace of an item cannot be empty")
        return self.beginning(namespace[: self.labels])

    def beginning(self, prefix: Namespace) -> str:
        """What the ids of agents begin with whose namespaces begin so."""
        return self.prefix + ".".join(prefix)

    def has_below(self, owner: str, prefix: Namespace) -> bool:
        """Whether an agent may have namespaces that begin so."""
        return tuple(owner[len(self.prefix) :].split("."))[: len(prefix)] == prefix

    def condition(self, prefix: Namespace) -> dict[str, Any]:
        """What an agent's items in namespaces that begin so have in their metadata."""
        places = range(self.labels, len(prefix))
        return {f"namespace.{place}": {"$eq": prefix[place]} for place in places}

    def key(self, namespace: Namespace, key: str) -> str:
        """The key of an item's memory: its own where possible. Others begin with a bracket."""
        rest = namespace[self.labels :]
        is_own = key and not rest and key[0] != "[" and is_storable(key)
        name = key if is_own else json.dumps([*rest, key])
        return name if len(name) <= MAX_NAME_LENGTH else f"[{sha256(name.encode()).hexdigest()}"


def fixed_labels(matches: Sequence[MatchCondition]) -> Namespace:
    """Labels that all namespaces which match begin with."""
    found: Namespace = ()
    for match in matches:
        if match.match_type == "prefix":
            labels = match.path[: [*match.path, "*"].index("*")]
            found = max(found, tuple(labels), key=len)
    return found


def matching(matches: Sequence[MatchCondition], namespace: Namespace) -> bool:
    """Whether a namespace begins and ends as asked; "*" is any label."""
    return all(_matches(match, namespace) for match in matches)


def _matches(match: MatchCondition, namespace: Namespace) -> bool:
    path: tuple[str, ...] = match.path
    if match.match_type == "suffix":
        path, namespace = path[::-1], namespace[::-1]
    elif match.match_type != "prefix":
        raise InputError(f"match_type must be prefix or suffix, got {match.match_type!r}")
    return len(path) <= len(namespace) and all(
        asked in ("*", label) for asked, label in zip(path, namespace, strict=False)
    )


def require_labels(op: object) -> None:
    """Raises InvalidNamespaceError for labels that LangGraph's own methods refuse."""
    paths: list[Sequence[Any]] = []
    if isinstance(op, GetOp | PutOp):
        paths = [op.namespace]
    elif isinstance(op, SearchOp):
        paths = [op.namespace_prefix]
    elif isinstance(op, ListNamespacesOp):
        paths = [match.path for match in op.match_conditions or ()]
    for path in paths:
        for label in path:
            if not is_storable(label) or not label or "." in label:
                raise InvalidNamespaceError(
                    "the labels of a namespace must be texts without a dot, a NUL or a lone "
                    f"surrogate, and not empty; got {shortened(label)}"
                )
