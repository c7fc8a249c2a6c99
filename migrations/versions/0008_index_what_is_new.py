"""Index what was written and changed of late by owner, concurrently and so in a revision apart.

Revision: 0008, after 0007, 2026-11-21
"""

import sqlalchemy as sa

from pgrecall.migrate.operations import create_index_concurrently, drop_index_concurrently

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

MEMORIES = (("agent_memories", "agent_id"), ("team_memories", "team_id"))
CHANGES = "ix_memory_events_agent_id_occurred_at"


def upgrade() -> None:
    for table, owner in MEMORIES:
        create_index_concurrently(f"ix_{table}_{owner}_inserted_at", table, [owner, "inserted_at"])
    create_index_concurrently(
        CHANGES,
        "memory_events",
        ["agent_id", "occurred_at"],
        postgresql_where=sa.text("event_type <> 'initial'"),
    )


def downgrade() -> None:
    drop_index_concurrently(CHANGES, "memory_events")
    for table, owner in reversed(MEMORIES):
        drop_index_concurrently(f"ix_{table}_{owner}_inserted_at", table)
