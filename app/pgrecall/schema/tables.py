"""The tables as SQLAlchemy Core tables.

They describe what the migrations create; a test compares the two. Statements contain no
identifiers but those defined here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import lru_cache

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.core.limits import (
    LABEL_KINDS,
    MAX_NAME_LENGTH,
)
from pgrecall.core.memory import TEAM
from pgrecall.core.zones import require_zone
from pgrecall.schema.columns import (
    check,
    moment_column,
    name_column,
    share_column,
    text_column,
    total_column,
)
from pgrecall.schema.kinds import MOMENT, SHARE, one_of
from pgrecall.schema.memories_table import memories_table, usage_table
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
    memory_labels: Table
    memory_links: Table
    gc_runs: Table
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


@lru_cache
def tables(schema: str = DEFAULT_SCHEMA) -> Tables:
    """The tables in a schema of this name."""
    metadata = MetaData(schema=schema, naming_convention=NAMING_CONVENTION)
    return Tables(
        metadata=metadata,
        memories=memories_table(metadata),
        memory_usage=usage_table(metadata),
        memory_events=_events(metadata),
        memory_labels=_labels(metadata),
        memory_links=_links(metadata),
        gc_runs=_gc_runs(metadata),
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
    )


def _events(metadata: MetaData) -> Table:
    return Table(
        "memory_events",
        metadata,
        name_column("agent_id", "Whose memory it concerns."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it concerns."),
        Column("id", Uuid, nullable=False, comment="UUID made by the client, version 7."),
        name_column("event_type", "What happened."),
        text_column("reason", "Why, in the caller's words."),
        text_column("actor", "Who did it."),
        Column("old_values", JSONB, comment="Changed fields before."),
        Column("new_values", JSONB, comment="Changed fields after."),
        Column(
            "metadata",
            JSONB,
            nullable=False,
            server_default=text("'{}'::jsonb"),
            comment="The caller's own fields, a JSON object.",
        ),
        moment_column("occurred_at", "When it happened.", default=text("now()"), nullable=False),
        PrimaryKeyConstraint("agent_id", "memory_id", "id"),
        Index(None, "agent_id", "occurred_at", postgresql_where=text("event_type <> 'initial'")),
        check("occurred_at", MOMENT),
        comment="What happened to memories, append-only; a retrieval leaves no row.",
    )


def _labels(metadata: MetaData) -> Table:
    return Table(
        "memory_labels",
        metadata,
        name_column("agent_id", "Whose memory it labels."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it labels."),
        name_column("kind", "keyword, tag, concept or component."),
        name_column("value", "The label itself."),
        Column(
            "weight",
            Double,
            nullable=False,
            server_default=text("1"),
            comment="How well it describes the memory, 0 to 1.",
        ),
        PrimaryKeyConstraint("agent_id", "memory_id", "kind", "value"),
        Index(  # the condition: see that of memories
            "ix_memory_labels_value_kind",
            "agent_id",
            "value",
            "kind",
            postgresql_where=text("value IS NOT NULL"),
        ),
        check("kind", one_of(LABEL_KINDS)),
        check("value", f"value <> '' AND length(value) <= {MAX_NAME_LENGTH}"),
        check("weight", SHARE),
        comment="Labels of memories with a kind and a weight, to find memories by.",
    )


def _links(metadata: MetaData) -> Table:
    return Table(
        "memory_links",
        metadata,
        name_column("agent_id", "Whose memories it links."),
        Column("source_id", Uuid, nullable=False, comment="The memory it starts from."),
        Column("target_id", Uuid, nullable=False, comment="The memory it leads to."),
        name_column("kind", "What the link means: consolidates, or a caller's own word."),
        Column(
            "weight",
            Double,
            nullable=False,
            server_default=text("1"),
            comment="How strong it is, 0 to 1.",
        ),
        PrimaryKeyConstraint("agent_id", "source_id", "target_id", "kind"),
        Index(None, "agent_id", "target_id", postgresql_where=text("target_id IS NOT NULL")),
        check("kind", f"kind <> '' AND length(kind) <= {MAX_NAME_LENGTH}"),
        check("two_memories", "source_id <> target_id"),
        check("weight", SHARE),
        comment="Links between two memories of the same owner; followed in both directions.",
    )


def _gc_runs(metadata: MetaData) -> Table:
    return Table(
        "gc_runs",
        metadata,
        name_column("agent_id", "Whose memories were examined; empty: those of every owner."),
        Column("id", Uuid, nullable=False, comment="The run, a UUID of version 7."),
        name_column("policy", "The policy's name."),
        share_column("min_trust_threshold", "Trust below which it archived."),
        share_column("delete_threshold", "Trust below which it deleted."),
        Column("max_age_hours", Double, comment="Age above which it archived."),
        Column("max_live", BigInteger, comment="Live memories an owner could keep."),
        total_column("scanned", "Live memories examined."),
        total_column("archived", "Memories archived."),
        total_column("deleted", "Memories deleted."),
        total_column("swept", "Counters, labels and links of deleted memories, removed."),
        moment_column("started_at", "When it began.", nullable=False),
        Column("seconds", Double, nullable=False, comment="How long it took."),
        Column("finished", Boolean, nullable=False, comment="Whether it has finished."),
        Column("max_event_age_hours", Double, comment="Age above which it deleted events."),
        Column("max_run_age_hours", Double, comment="Age above which it deleted earlier runs."),
        total_column("events", "Events deleted for their age.", default="0"),
        total_column("runs", "Earlier runs deleted for their age.", default="0"),
        PrimaryKeyConstraint("agent_id", "id"),
        check("started_at", MOMENT),
        comment="Runs of the garbage collection; a dry run leaves none.",
    )
