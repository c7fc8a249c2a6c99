"""The table of memories, and that of their usage."""

from __future__ import annotations

from sqlalchemy import Column, Index, MetaData, PrimaryKeyConstraint, Table, Uuid, text

from pgrecall.schema.columns import check, field_column, name_column
from pgrecall.schema.fields import TABLE, USAGE


def memories_table(metadata: MetaData) -> Table:
    return Table(
        "agent_memories",
        metadata,
        *(field_column(field, metadata.schema) for field in TABLE),
        PrimaryKeyConstraint("agent_id", "id"),
        *(check(field.name, field.kind) for field in TABLE if field.kind.condition),
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


def usage_table(metadata: MetaData) -> Table:
    return Table(
        "memory_usage",
        metadata,
        name_column("agent_id", "Whose memory it counts."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it counts."),
        *map(field_column, USAGE),
        PrimaryKeyConstraint("agent_id", "memory_id"),
        *(check(field.name, field.kind) for field in USAGE),
        comment="Counters of use, apart from agent_memories so that counting never touches a "
        "vector or its index; no row until the first use.",
    )
