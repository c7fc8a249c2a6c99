"""The table of memories, and that of their usage."""

from __future__ import annotations

from sqlalchemy import Index, MetaData, PrimaryKeyConstraint, Table, text

from pgrecall.schema.columns import check, field_column, required
from pgrecall.schema.fields import TABLE, USAGE
from pgrecall.schema.kinds import ID, TEXT


def add_memory_tables(metadata: MetaData) -> None:
    """The table of memories, and that of their usage."""
    Table(
        "agent_memories",
        metadata,
        *(field_column(field, metadata.schema) for field in TABLE),
        PrimaryKeyConstraint("agent_id", "id"),
        check("validity", "valid_from < valid_until"),
        # IS NOT NULL holds for every row. It stops the planner from using these indexes for a
        # lookup by key, which looks as cheap as long as the statistics are those of a new table.
        Index(
            "ix_agent_memories_content_hash_edition",
            "agent_id",
            "content_hash",
            "edition",
            unique=True,
            postgresql_where=text("content_hash IS NOT NULL AND status = 'active'"),
        ),
        Index(
            None,
            "agent_id",
            "content_hash",
            postgresql_where=text("superseded_by IS NOT NULL"),
        ),
        Index(None, "agent_id", "inserted_at", postgresql_where=text("inserted_at IS NOT NULL")),
        Index(
            None,
            "agent_id",
            "expires_at",
            postgresql_where=text("expires_at IS NOT NULL AND status <> 'archived'"),
        ),
        Index(
            "ix_agent_memories_turns",
            "agent_id",
            "session",
            text("COALESCE(turn, 2147483647)"),
            text("COALESCE(created_at, 'infinity'::timestamp with time zone)"),
            "id",
            postgresql_where=text("session IS NOT NULL"),
        ),
        Index(
            "ix_agent_memories_newest_of_subject",
            "agent_id",
            text('"left"(subject, 200)'),
            text("COALESCE(created_at, '-infinity'::timestamp with time zone)"),
            "id",
            postgresql_where=text(
                "subject IS NOT NULL AND status = 'active' AND invalidated_at IS NULL"
            ),
        ),
        Index(
            "ix_agent_memories_words",
            # Without a schema, because reflection shows the function like this.
            text("term_keys(agent_id, terms)"),
            postgresql_using="gin",
        ),
        comment="Memories of agents and teams, one row each; nothing here changes when one is "
        "retrieved.",
    )
    Table(
        "memory_usage",
        metadata,
        required("agent_id", TEXT, "Whose memory it counts."),
        required("memory_id", ID, "The memory it counts."),
        *map(field_column, USAGE),
        PrimaryKeyConstraint("agent_id", "memory_id"),
        comment="Counters of use, apart from agent_memories so that counting never touches a "
        "vector or its index; no row until the first use.",
    )
