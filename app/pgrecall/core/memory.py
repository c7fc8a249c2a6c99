"""Memories as Python values: NewMemory goes in, MemoryChanges change it, Memory comes out.

They name the fields of `schema/fields.py`, so that editors and type checkers know them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, make_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal, Self, TypedDict
from uuid import UUID

from pgrecall.core.display import LONGEST_TEXT, line, quoted
from pgrecall.core.embedding_type import read_embedding
from pgrecall.core.quoting import unknown_field
from pgrecall.core.vectors import VectorLike

TEAM: Final = "team:"
"""Prefix of the stored id of a team. An agent's id must not begin with it."""


class Unset(Enum):
    """Default of fields where None has a meaning of its own, such as "no embedding"."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to be stored, with every column that a caller may set.

    Fields that are left unset get these values:

    - `embedding` is computed by the repository's embedder. None stores the memory without one.
    - `created_at` becomes the database's now(). None stores it as unknown.
    - `trust` and its four parts are computed by Grace's formula. None means never assessed.
    - `trust_curve` and `trust_half_life_hours` depend on `output_type` (table
      output_type_defaults).
    - `tier` and `expires_at` come from the table tier_defaults. None as `expires_at` means that
      the memory never expires.

    All times need a time zone, and all shares lie in [0, 1]. Nothing is checked here: the
    repository checks a whole batch before it sends anything, and its error names the bad row.
    """

    content: str
    _: KW_ONLY
    id: UUID | str | None = None
    """If None, the client makes one (UUID version 7). Adding an id again stores nothing new."""
    key: str | None = None
    """The caller's own name for the memory, which identifies it in place of its text. The id is
    derived from the key, so a repeated write is recognised."""
    embedding: VectorLike | Literal[Unset.UNSET] | None = UNSET
    embedding_model: str | None = None
    memory_type: str = "episodic"
    additional_types: Sequence[str] = ()
    memory_nature: str | None = None
    content_type: str | None = None
    tier: str | Literal[Unset.UNSET] = UNSET
    subject: str | None = None
    tags: Sequence[str] = ()
    entities: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: float = 0.5
    usefulness: float = 0.5
    confidence: float = 0.8
    trust: float | Literal[Unset.UNSET] | None = UNSET
    trust_provenance: float | None = None
    trust_consensus: float | None = None
    trust_governance: float | None = None
    trust_usage: float | None = None
    trust_curve: str | Literal[Unset.UNSET] | None = UNSET
    trust_half_life_hours: float | Literal[Unset.UNSET] | None = UNSET
    component: str | None = None
    output_type: str | None = None
    domain: str | None = None
    category: str | None = None
    loop: str | None = None
    quality_score: float | None = None
    compliant: bool | None = None
    requires_approval: bool = False
    """Its status is pending until it is approved; trust is lower, too."""
    has_errors: bool = False
    violates_policy: bool = False
    under_policy_review: bool = False
    created_at: datetime | Literal[Unset.UNSET] | None = UNSET
    observed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | Literal[Unset.UNSET] | None = UNSET
    tokens: int | None = None
    """Number of tokens of `content`. If None, the repository counts them."""
    session: str | None = None
    """The dialogue that this is a turn of; `surrounding_turns` adds the turns around a hit."""
    turn: int | None = None
    """Position in the session, from 0. Turns without one come last, ordered by `created_at`."""

    def __new__(cls, *_: Any, **fields: Any) -> Self:
        """Refuses unknown fields, and names the one that may be meant."""
        known = cls.__dataclass_fields__.keys()
        if unknown := fields.keys() - known:
            raise unknown_field(unknown, known)
        return object.__new__(cls)


NEW_DEFAULTS: Final[Mapping[str, Any]] = {
    one.name: {} if one.name == "metadata" else one.default
    for one in fields(NewMemory)
    if one.name != "content"
}
"""Field of a new memory → its default."""


class MemoryFields(TypedDict, total=False):
    """The fields that a new memory and an update have in common, except the text."""

    embedding: VectorLike | Literal[Unset.UNSET] | None
    embedding_model: str | None
    memory_type: str
    additional_types: Sequence[str]
    memory_nature: str | None
    content_type: str | None
    tier: str | Literal[Unset.UNSET]
    subject: str | None
    tags: Sequence[str]
    entities: Sequence[str]
    metadata: Mapping[str, Any]
    importance: float
    usefulness: float
    confidence: float
    trust: float | Literal[Unset.UNSET] | None
    trust_provenance: float | None
    trust_consensus: float | None
    trust_governance: float | None
    trust_usage: float | None
    trust_curve: str | Literal[Unset.UNSET] | None
    trust_half_life_hours: float | Literal[Unset.UNSET] | None
    component: str | None
    output_type: str | None
    domain: str | None
    category: str | None
    loop: str | None
    quality_score: float | None
    compliant: bool | None
    requires_approval: bool
    has_errors: bool
    violates_policy: bool
    under_policy_review: bool
    created_at: datetime | Literal[Unset.UNSET] | None
    observed_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    expires_at: datetime | Literal[Unset.UNSET] | None
    tokens: int | None
    session: str | None
    turn: int | None


class MemoryChanges(MemoryFields, total=False):
    """The fields that `update` can change: those of NewMemory except `id` and `key`.

    Fields that are UNSET do not change.
    """

    content: str


class NewMemoryFields(MemoryFields, total=False):
    """The fields that `add` and others take beside a text: those of NewMemory except `content`."""

    id: UUID | str | None
    key: str | None


class NewMemoryDict(NewMemoryFields):
    """A dict that stands for a NewMemory."""

    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A stored memory with its usage counters.

    The owner is in `agent_id` or `team_id`; the other one is None. `embedding` is None if the
    memory has none or if it was not requested.
    """

    agent_id: str | None
    team_id: str | None
    id: UUID
    content: str
    embedding: list[float] | None
    embedding_model: str | None
    memory_type: str
    additional_types: list[str]
    memory_nature: str | None
    content_type: str | None
    tier: str
    status: str
    subject: str | None
    tags: list[str]
    entities: list[str]
    metadata: dict[str, Any]
    importance: float
    usefulness: float
    confidence: float
    needs_review: bool
    trust: float | None
    trust_provenance: float | None
    trust_consensus: float | None
    trust_governance: float | None
    trust_usage: float | None
    trust_curve: str | None
    trust_half_life_hours: float | None
    component: str | None
    output_type: str | None
    domain: str | None
    category: str | None
    loop: str | None
    quality_score: float | None
    compliant: bool | None
    requires_approval: bool
    has_errors: bool
    violates_policy: bool
    under_policy_review: bool
    created_at: datetime | None
    observed_at: datetime | None
    updated_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    expires_at: datetime | None
    invalidated_at: datetime | None
    invalidation_reason: str | None
    superseded_by: UUID | None
    tokens: int | None
    """None if they were never counted; a context then estimates them."""
    key: str | None
    """The key that it was stored under, if any."""
    session: str | None
    turn: int | None
    retrieval_count: int
    last_accessed_at: datetime | None
    success_count: int
    failure_count: int
    feedback_up: int
    feedback_down: int

    @property
    def owner_id(self) -> str:
        """The owner as stored: an agent's id, or team:<id>."""
        return self.agent_id or f"{TEAM}{self.team_id}"

    def __repr__(self) -> str:
        return f"Memory({quoted(self.owner_id, 40)}, {brief(self)})"

    def __str__(self) -> str:
        return f"{_day(self)} {line(self.memory_type, 40)}: {line(self.content)}"

    def cells(self) -> dict[str, str]:
        """Column of a table → its text."""
        kind = line(self.memory_type, 40)
        names = {"id": str(self.id), "created": _day(self), "type": kind}
        return names | {"memory": line(self.content, LONGEST_TEXT)}


def brief(memory: Memory) -> str:
    """The id and the beginning of the text, as the `repr` of records shows a memory."""
    return f"id={memory.id}, {quoted(memory.content)}"


def _day(memory: Memory) -> str:
    return "undated" if memory.created_at is None else f"{memory.created_at:%Y-%m-%d}"


_Loaded: Any = make_dataclass("_Loaded", [f.name for f in fields(Memory)], slots=True)


LEADING: Final = len(fields(Memory)) - 1
"""The number of columns of a memory in a row; the owner's id is one."""


def leading_memory(row: Sequence[Any]) -> Memory:
    """The memory of a row that begins with the stored id of the owner, and then has the fields of
    Memory in their order.

    A frozen dataclass sets each of its many fields by a call, which takes ten times as long as
    making an object of the same slots and changing its class.
    """
    owner_id = row[0]
    is_team = owner_id.startswith(TEAM)
    agent_id, team_id = (None, owner_id.removeprefix(TEAM)) if is_team else (owner_id, None)
    memory: Memory = _Loaded(agent_id, team_id, *row[1:LEADING])
    memory.__class__ = Memory
    return memory


def memory_in_full(row: Any) -> Memory:
    """The memory of a row that may also have its embedding, as `vector`."""
    vector = getattr(row, "vector", None)
    memory = leading_memory(row)
    return memory if vector is None else replace(memory, embedding=read_embedding(vector))
