"""The tables as SQLAlchemy Core tables.

They describe what the migrations create; a test compares the two. Statements contain no
identifiers but those defined here.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import lru_cache

from sqlalchemy import (
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    text,
)

from pgrecall.core.memory import TEAM
from pgrecall.core.zones import require_zone
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
from pgrecall.schema.memories_table import memories_table, usage_table
from pgrecall.schema.owner_tables import entity_names_table, owner_vectors_table
from pgrecall.schema.rank_tables import rank_indexes_table, rank_positions_table
from pgrecall.schema.settings_tables import (
    component_reputations_table,
    embedding_model_table,
    granted_roles_table,
    installed_sql_table,
    output_type_defaults_table,
    profiles_table,
    service_keys_table,
    tier_defaults_table,
)

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
    """The tables of one schema."""

    metadata: MetaData
    memories: Table
    memory_usage: Table
    memory_events: Table
    memory_links: Table
    maintenance_runs: Table
    rank_indexes: Table
    rank_positions: Table
    component_reputations: Table
    output_type_defaults: Table
    tier_defaults: Table
    profiles: Table
    installed_sql: Table
    granted_roles: Table
    embedding_model: Table
    service_keys: Table
    owner_vectors: Table
    entity_names: Table
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
    return Tables(
        metadata=metadata,
        memories=memories_table(metadata),
        memory_usage=usage_table(metadata),
        memory_events=_events(metadata),
        memory_links=_links(metadata),
        maintenance_runs=_maintenance_runs(metadata),
        rank_indexes=rank_indexes_table(metadata),
        rank_positions=rank_positions_table(metadata),
        component_reputations=component_reputations_table(metadata),
        output_type_defaults=output_type_defaults_table(metadata),
        tier_defaults=tier_defaults_table(metadata),
        profiles=profiles_table(metadata),
        installed_sql=installed_sql_table(metadata),
        granted_roles=granted_roles_table(metadata),
        embedding_model=embedding_model_table(metadata),
        service_keys=service_keys_table(metadata),
        owner_vectors=owner_vectors_table(metadata),
        entity_names=entity_names_table(metadata),
    )


def _events(metadata: MetaData) -> Table:
    return Table(
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


def _links(metadata: MetaData) -> Table:
    return Table(
        "memory_links",
        metadata,
        required("agent_id", TEXT, "Whose memories it links."),
        required("source_id", ID, "The memory it starts from."),
        required("target_id", ID, "The memory it leads to."),
        required("kind", NAME, "What the link means: consolidates, or a caller's own word."),
        column("weight", SHARE, "How strong it is, 0 to 1.", "1"),
        PrimaryKeyConstraint("agent_id", "source_id", "target_id", "kind"),
        Index(None, "agent_id", "target_id", postgresql_where=text("target_id IS NOT NULL")),
        check("two_memories", "source_id <> target_id"),
        comment="Links between two memories of the same owner; followed in both directions.",
    )


def _maintenance_runs(metadata: MetaData) -> Table:
    numbers = {
        "scanned": "Live memories examined.",
        "archived": "Memories archived.",
        "deleted": "Memories deleted.",
        "completed": "Tasks completed because nobody had touched them.",
        "orphans": "Counters and links of deleted memories, removed.",
        "events": "Events deleted for their age.",
        "runs": "Earlier runs deleted for their age.",
    }
    return Table(
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
