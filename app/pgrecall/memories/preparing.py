"""Checks and embeds new memories before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args
from uuid import UUID

from pgrecall.core.ids import id_of_key, new_id
from pgrecall.core.memory import UNSET, NewMemory, Unset
from pgrecall.core.steps import CountTokens, Embed, Embedded, Inspect, Operation
from pgrecall.core.validation import require_bool, require_one_of, require_share
from pgrecall.core.vectors import StoredVector, VectorLike
from pgrecall.errors import InputError, InvalidMemory, NotCompliant
from pgrecall.memories.event_fields import noted
from pgrecall.memories.incoming import checked_memory
from pgrecall.schema import Layout, Tables

DuplicatePolicy = Literal["bump", "keep", "replace", "allow"]
NEAR_DUPLICATE = 0.92
"""The similarity above which IBEX Harness and Siestai treat two memories as duplicates."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How duplicates and memories that are not compliant are handled."""

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
        require_one_of("duplicates", duplicates, get_args(DuplicatePolicy))
        require_bool("check_compliance", check_compliance)
        noted(reason=None, actor=actor)
        threshold = require_share("near_duplicates", near_duplicates)
        if duplicates == "allow" and threshold is not None:
            raise InputError(
                "near_duplicates cannot be used with duplicates='allow', which stores every memory"
            )
        return cls(duplicates, threshold, check_compliance, actor)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `remember`."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Incoming:
    """A new memory, checked and embedded."""

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
        raise InvalidMemory(f"a memory must be a NewMemory or text, got {type(memory).__name__}")
    return memory


def prepared(
    tables: Tables,
    agent_id: str,
    memories: Sequence[NewMemory | str],
    policy: Policy,
    *,
    named: bool,
    refused: dict[int, InputError] | None = None,
) -> Operation[list[Incoming]]:
    """Checks all fields, embeds texts and counts tokens where these are missing, and checks all
    vectors. Errors name a memory's position if `named`; if there is `refused`, they are collected
    there by position instead, and these memories are left out."""
    checked: dict[int, _Checked] = {}
    for position, memory in enumerate(memories):
        with Position(position, len(memories), named, refused):
            checked[position] = _checked(tables, agent_id, _as_new(memory), policy)
    to_embed = [one for one in checked.values() if one.vector is UNSET]
    if to_embed:
        embedded: Embedded = yield Embed(tuple(one.values["content"] for one in to_embed))
        for one, made in zip(to_embed, embedded.vectors, strict=True):
            one.vector = made
            one.values["embedding_model"] = one.values["embedding_model"] or embedded.model
    to_count = [one for one in checked.values() if one.values["tokens"] is None]
    if to_count:
        counts = yield CountTokens(tuple(one.values["content"] for one in to_count))
        for one, tokens in zip(to_count, counts, strict=True):
            one.values["tokens"] = tokens
    layout: Layout = yield Inspect()
    ready = []
    for position, one in checked.items():
        with Position(position, len(memories), named, refused):
            assert one.vector is not UNSET
            vector = None if one.vector is None else layout.vector(one.vector)
            ready.append(Incoming(one.values["id"], one.values, one.differing, one.unset, vector))
    return ready


@dataclass(slots=True)
class _Checked:
    """A memory whose fields have been checked, but not its vector."""

    values: dict[str, Any]
    differing: frozenset[str]
    unset: list[str]
    vector: VectorLike | Literal[Unset.UNSET] | None


def _checked(tables: Tables, agent_id: str, memory: NewMemory, policy: Policy) -> _Checked:
    differing, unset, values = checked_memory(memory)
    if policy.check_compliance and values["compliant"] is False:
        raise NotCompliant()
    if values["key"] is not None:
        values["id"] = id_of_key(agent_id, values["key"])
    values["id"] = values["id"] or new_id()
    values |= dict.fromkeys(unset)
    del values["embedding"]
    decided = [name for name in unset if name != "embedding"]
    return _Checked(values, frozenset(differing), decided, memory.embedding)


class Position:
    """Adds the position in the batch to the message of an InputError, or collects the error."""

    def __init__(
        self,
        position: int,
        total: int,
        named: bool,
        refused: dict[int, InputError] | None = None,
    ) -> None:
        self._position, self._refused = position, refused
        self._prefix = f"memory {position} of {total}: " if named else ""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, InputError):
            return False
        if self._refused is not None:
            self._refused[self._position] = error
            return True
        if self._prefix:
            raise type(error)(f"{self._prefix}{error}") from None
        return False
