"""Checks and embeds new memories before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from pgrecall.core.embedders import Embedded
from pgrecall.core.entity_finding import Found, merged
from pgrecall.core.ids import id_of_key, new_id
from pgrecall.core.memory import NewMemory, NewMemoryDict
from pgrecall.core.steps import Ask, Operation
from pgrecall.core.validation import require_bool, require_one_of, require_share
from pgrecall.errors import InputError, NotCompliant
from pgrecall.memories.event_fields import check_audit_fields
from pgrecall.memories.incoming import as_new, validated_memory
from pgrecall.ranking.names import known_entities
from pgrecall.ranking.owner_facts import expects_names
from pgrecall.schema import Layout, Tables

DuplicatePolicy = Literal["bump", "keep", "replace", "allow"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The treatment of duplicates, and of memories that are not compliant."""

    duplicates: DuplicatePolicy
    near_duplicates: float | None
    check_compliance: bool
    actor: str | None
    supersede_subject: bool
    run: str | None

    @classmethod
    def of(
        cls,
        duplicates: DuplicatePolicy,
        near_duplicates: float | None,
        check_compliance: bool,
        actor: str | None,
        supersede_subject: bool = False,
        run: str | None = None,
    ) -> Policy:
        require_one_of("duplicates", duplicates, get_args(DuplicatePolicy))
        require_bool("check_compliance", check_compliance)
        require_bool("supersede_subject", supersede_subject)
        check_audit_fields(reason=None, actor=actor, run=run)
        threshold = require_share("near_duplicates", near_duplicates)
        if duplicates == "allow" and threshold is not None:
            raise InputError(
                "near_duplicates cannot be used with duplicates='allow', which stores every memory"
            )
        return cls(duplicates, threshold, check_compliance, actor, supersede_subject, run)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `remember`."""
        return asdict(self)


Incoming = dict[str, Any]
"""A new memory, checked and embedded: the fields that are not at their defaults, and always id,
tokens and embedding."""


def prepared(
    tables: Tables,
    agent_id: str,
    memories: Sequence[NewMemory | NewMemoryDict | str],
    policy: Policy,
    *,
    named: bool,
    refused: dict[int, InputError] | None = None,
) -> Operation[list[Incoming]]:
    """Checks all fields, embeds texts, counts tokens and finds entities where these are missing,
    and checks all vectors.

    Errors name a memory's position if `named`; if there is `refused`, they are collected there by
    position instead, and these memories are left out.
    """
    checked: dict[int, Incoming] = {}
    for position, memory in enumerate(memories):
        with Position(position, len(memories), named, refused):
            checked[position] = _checked(agent_id, as_new(memory), policy)
    to_embed = [one for one in checked.values() if "embedding" not in one]
    if to_embed:
        embedded: Embedded = yield Ask("embed", tuple(values["content"] for values in to_embed))
        for values, embedding in zip(to_embed, embedded.vectors, strict=True):
            values["embedding"] = embedding
            values["embedding_model"] = values.get("embedding_model") or embedded.model
    to_count = [one for one in checked.values() if "tokens" not in one]
    if to_count:
        counts = yield Ask("count_tokens", tuple(values["content"] for values in to_count))
        for values, tokens in zip(to_count, counts, strict=True):
            values["tokens"] = tokens
    yield from _with_entities(tables, agent_id, [*checked.values()])
    has_subjects = any("subject" in one for one in checked.values())
    if has_subjects or any("entities" in one for one in checked.values()):
        yield from expects_names(tables, agent_id, subjects=has_subjects)
    layout: Layout = yield Ask("layout")
    ready: list[Incoming] = []
    for position, one in checked.items():
        with Position(position, len(memories), named, refused):
            vector = one["embedding"]
            if vector is not None:
                one["embedding"] = layout.vector(vector)
            ready.append(one)
    return ready


def _with_entities(
    tables: Tables, agent_id: str, memories: Sequence[dict[str, Any]]
) -> Operation[None]:
    """Adds the entities that are found in the memories that have none."""
    without = [values for values in memories if "entities" not in values]
    texts = tuple(values["content"] for values in without)
    finding: Found | None = (yield Ask("find_entities", texts)) if texts else None
    if finding is None:
        return
    known: dict[int, list[str]] = {}
    if finding.looks_up:
        rows = yield known_entities(tables, [agent_id], texts)
        known = {row.number: row.entities for row in rows}
    for number, (values, names) in enumerate(zip(without, finding.names, strict=True), start=1):
        if entities := merged(known.get(number, ()), names):
            values["entities"] = entities


def _checked(agent_id: str, memory: NewMemory, policy: Policy) -> Incoming:
    """The embedding is the caller's, and missing if it is to be made."""
    values = validated_memory(memory)
    if policy.check_compliance and values.get("compliant") is False:
        raise NotCompliant()
    if "key" in values:
        values["id"] = id_of_key(agent_id, values["key"])
    elif "id" not in values:
        values["id"] = new_id()
    return values


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
