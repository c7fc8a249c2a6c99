"""Memories on their way in: every one checked, then embedded, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import UUID

from pgrecall.embedding import StoredVector, VectorLike
from pgrecall.errors import InputError, InvalidMemory, NotCompliant, UnknownName
from pgrecall.ids import id_of_key, new_id
from pgrecall.incoming import checked_memory
from pgrecall.memory import UNSET, NewMemory, Unset
from pgrecall.operations.noting import noted
from pgrecall.schema import Layout, Tables
from pgrecall.statements import UNSET_FIELDS
from pgrecall.steps import Embed, Embedded, Inspect, Operation
from pgrecall.validation import require_bool, require_share

DuplicatePolicy = Literal["bump", "keep", "replace"]
NEAR_DUPLICATE = 0.92
"""The similarity above which systems A and B take two memories for the same."""
_DIFFERING = "differing"


@dataclass(frozen=True, slots=True)
class Policy:
    """How duplicates and memories that are not compliant are met."""

    duplicates: DuplicatePolicy
    near_duplicates: float | None
    check_compliance: bool
    actor: str | None

    @classmethod
    def of(
        cls,
        duplicates: DuplicatePolicy,
        near_duplicates: float | None,
        check_compliance: bool,
        actor: str | None,
    ) -> Policy:
        if duplicates not in get_args(DuplicatePolicy):
            raise UnknownName(
                f"duplicates: unknown {duplicates!r:.80}; known are "
                f"{', '.join(get_args(DuplicatePolicy))}"
            )
        require_bool("check_compliance", check_compliance)
        noted(reason=None, actor=actor)
        threshold = require_share("near_duplicates", near_duplicates)
        return cls(duplicates, threshold, check_compliance, actor)


@dataclass(frozen=True, slots=True)
class Incoming:
    """A memory whose every field has been checked."""

    id: UUID
    values: dict[str, Any]
    differing: frozenset[str]
    """The fields that are not at their defaults."""
    unset: list[str]
    vector: StoredVector | None


def _as_new(memory: NewMemory | str) -> NewMemory:
    if isinstance(memory, str):
        return NewMemory(memory)
    if not isinstance(memory, NewMemory):
        raise InvalidMemory(f"a memory is a NewMemory or text, got {type(memory).__name__}")
    return memory


def prepared(
    tables: Tables,
    agent_id: str,
    memories: Sequence[NewMemory | str],
    policy: Policy,
    *,
    named: bool,
) -> Operation[list[Incoming]]:
    """Checks all fields, embeds what has no vector yet, then checks all vectors."""
    stored: list[dict[str, Any]] = []
    for position, memory in enumerate(memories):
        with _Position(position, len(memories), named):
            stored.append(_checked(tables, agent_id, _as_new(memory), policy))
    vectors: list[VectorLike | Literal[Unset.UNSET] | None] = [
        values.pop("embedding") for values in stored
    ]
    to_embed = [i for i, vector in enumerate(vectors) if vector is UNSET]
    if to_embed:
        embedded: Embedded = yield Embed(tuple(stored[i]["content"] for i in to_embed))
        for i, made in zip(to_embed, embedded.vectors, strict=True):
            vectors[i] = made
            stored[i]["embedding_model"] = stored[i]["embedding_model"] or embedded.model
    layout: Layout = yield Inspect()
    prepared = []
    for position, (values, vector) in enumerate(zip(stored, vectors, strict=True)):
        with _Position(position, len(memories), named):
            assert vector is not UNSET
            checked_vector = None if vector is None else layout.vector(vector)
            unset, differing = values.pop(UNSET_FIELDS), values.pop(_DIFFERING)
            prepared.append(Incoming(values["id"], values, differing, unset, checked_vector))
    return prepared


def _checked(tables: Tables, agent_id: str, memory: NewMemory, policy: Policy) -> dict[str, Any]:
    differing, unset, values = checked_memory(memory)
    if policy.check_compliance and values["compliant"] is False:
        raise NotCompliant()
    key = values.pop("key")
    if key is not None:
        values["id"] = id_of_key(tables.memories.name, agent_id, key)
    values["id"] = values["id"] or new_id()
    values |= dict.fromkeys(unset)
    if "embedding" in unset:
        values["embedding"] = UNSET
    values[UNSET_FIELDS] = [name for name in unset if name != "embedding"]
    values[_DIFFERING] = frozenset(differing)
    return values


class _Position:
    """Puts the position within the batch in front of an InputError."""

    def __init__(self, position: int, total: int, named: bool) -> None:
        self._prefix = f"memory {position} of {total}: " if named else ""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._prefix and isinstance(error, InputError):
            raise type(error)(f"{self._prefix}{error}") from None
