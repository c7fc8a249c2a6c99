"""The tables as SQLAlchemy Core tables.

They describe what the migrations create; a test compares the two. Statements contain no
identifiers but those defined here.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import lru_cache
from uuid import UUID

from sqlalchemy import (
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    text,
)

from pgrecall.core.memory import TEAM
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_few, require_name
from pgrecall.core.vectors import EmbeddingType, StoredVector, VectorLike, stored_vector
from pgrecall.core.zones import require_zone
from pgrecall.errors import InputError
from pgrecall.schema.columns import check, column, required
from pgrecall.schema.kinds import (
    ANSWER,
    BIGINT,
    DOUBLE,
    ID,
    JSON,
    MOMENT,
    NAME,
    SHARE,
    TEXT,
)
from pgrecall.schema.memories_table import add_memory_tables
from pgrecall.schema.rank_tables import add_rank_tables
from pgrecall.schema.settings_tables import add_settings_tables

DEFAULT_SCHEMA = "pgrecall"
NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one schema: all in `metadata`, and those that statements of ours name."""

    metadata: MetaData
    memories: Table
    memory_usage: Table
    rank_indexes: Table
    profiles: Table
    embedding_model: Table
    service_keys: Table
    prefix: str = ""
    """Prefix of stored owner ids that the caller's ids do not have: `team:` or empty."""
    zone: tzinfo | None = field(default=None, compare=False)
    """The repository's time zone. No statement depends on it, so those made for one zone serve all.
    """

    @property
    def schema(self) -> str:
        return str(self.metadata.schema)

    def of_teams(self) -> Tables:
        """The same tables, for operations on teams."""
        return replace(self, prefix=TEAM)

    def in_zone(self, timezone: str | tzinfo | None) -> Tables:
        """The same tables, for users of this time zone. None changes nothing."""
        zone = require_zone(timezone)
        return self if zone is None else replace(self, zone=zone)


def migrate_up(schema: str) -> str:
    """The command that migrates this schema, in words of a message."""
    named = "" if schema == DEFAULT_SCHEMA else f" --schema {shlex.quote(schema)}"
    return f"run `pgrecall migrate up{named}`"


@lru_cache
def tables(schema: str = DEFAULT_SCHEMA) -> Tables:
    """The tables in a schema of this name."""
    metadata = MetaData(schema=schema, naming_convention=NAMING_CONVENTION)
    for add_tables in (
        add_memory_tables,
        _add_history_tables,
        add_rank_tables,
        add_settings_tables,
    ):
        add_tables(metadata)
    made = {table.name: table for table in metadata.tables.values()}
    return Tables(
        metadata,
        memories=made["agent_memories"],
        memory_usage=made["memory_usage"],
        rank_indexes=made["rank_indexes"],
        profiles=made["profiles"],
        embedding_model=made["embedding_model"],
        service_keys=made["service_keys"],
    )


def _add_history_tables(metadata: MetaData) -> None:
    """What happened to memories, their links, and the runs of maintenance."""
    Table(
        "memory_events",
        metadata,
        required("agent_id", TEXT, "Whose memory it concerns."),
        required("memory_id", ID, "The memory it concerns."),
        required("id", ID, "UUID made by the client, version 7."),
        required("event_type", TEXT, "What happened."),
        column("reason", TEXT, "Why, in the caller's words."),
        column("actor", TEXT, "Who did it."),
        column("old_values", JSON, "Changed fields before."),
        column("new_values", JSON, "Changed fields after."),
        column("metadata", JSON, "The caller's own fields, a JSON object.", "'{}'::jsonb"),
        column("occurred_at", MOMENT, "When it happened.", "now()"),
        PrimaryKeyConstraint("agent_id", "memory_id", "id"),
        Index(None, "agent_id", "occurred_at", postgresql_where=text("event_type <> 'initial'")),
        comment="What happened to memories, append-only; a retrieval leaves no row.",
    )
    Table(
        "memory_links",
        metadata,
        required("agent_id", TEXT, "Whose memories it links."),
        required("source_id", ID, "The memory it starts from."),
        required("target_id", ID, "The memory it leads to."),
        required("kind", NAME, "What the link means: consolidates, or a caller's own word."),
        column("weight", SHARE, "How strong it is, 0 to 1.", "1"),
        PrimaryKeyConstraint("agent_id", "source_id", "target_id", "kind"),
        Index(None, "agent_id", "target_id"),
        check("two_memories", "source_id <> target_id"),
        comment="Links between two memories of the same owner; followed in both directions.",
    )
    numbers = {
        "scanned": "Live memories examined.",
        "archived": "Memories archived.",
        "deleted": "Memories deleted.",
        "completed": "Tasks completed because nobody had touched them.",
        "orphans": "Counters and links of deleted memories, removed.",
        "events": "Events deleted for their age.",
        "runs": "Earlier runs deleted for their age.",
    }
    Table(
        "maintenance_runs",
        metadata,
        required("agent_id", TEXT, "Whose memories were examined; empty: those of every owner."),
        required("id", ID, "The run, a UUID of version 7."),
        required("policy", JSON, "The retention policy: its name, and its rules."),
        required("started_at", MOMENT, "When it began."),
        column("seconds", DOUBLE, "How long it took.", "0"),
        column("finished", ANSWER, "Whether it did all tasks.", "false"),
        *(column(name, BIGINT, comment, "0") for name, comment in numbers.items()),
        column("tasks", JSON, "How many tasks of each kind it did, and left.", "'{}'"),
        PrimaryKeyConstraint("agent_id", "id"),
        comment="Runs of maintenance; a dry run leaves none.",
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """Read from the catalogue once per engine."""

    revision: str
    embedding_type: EmbeddingType
    embedding_oid: int
    dimensions: int
    extension_schema: str
    """Where pgvector is installed."""
    model: str | None = None
    """The model that makes the embeddings of this schema; None until an embedder has made one."""
    distributed: bool = False
    """True if Citus distributes the tables over several nodes."""
    compiles: bool = False
    """True if the server compiles (JIT) cheaper statements than PostgreSQL does by default."""

    def vector(self, values: VectorLike) -> StoredVector:
        """Converts a vector to the form this database stores; raises InvalidVector."""
        return stored_vector(values, dimensions=self.dimensions, embedding_type=self.embedding_type)


def require_owner(tables: Tables, agent_id: object, name: str = "agent_id") -> str:
    """Checks an owner's id and returns it as stored, with the prefix of teams if `tables` has one.

    A UUID stands for its text. A team's id that already has the prefix passes. Raises InputError.
    """
    if isinstance(agent_id, UUID):
        agent_id = str(agent_id)
    if not isinstance(agent_id, str):
        raise InputError(f"{name} must be text or a UUID, got {shortened(agent_id)}")
    return _stored(tables.prefix, agent_id, name)


def require_owners(tables: Tables, agent_ids: object, name: str) -> list[str]:
    """The ids of several owners as stored, each once. None stands for none. Raises InputError."""
    if agent_ids is None:
        return []
    several = require_few(name, agent_ids)
    owners = dict.fromkeys(require_owner(tables, one, name) for one in several)
    return [*owners] if isinstance(several, Sequence) else sorted(owners)


@lru_cache(1_000)
def _stored(prefix: str, agent_id: str, name: str) -> str:
    """The id as stored. Cached, since most calls are about an owner that was checked before."""
    owner_id = prefix + require_name(name, agent_id.removeprefix(prefix))
    if owner_id.startswith(TEAM) and not prefix:
        raise InputError(
            f"{name} must not begin with {TEAM!r}, got {shortened(owner_id)}: work on the memories "
            "of teams through `repository.teams`, which takes their ids without it"
        )
    return owner_id
