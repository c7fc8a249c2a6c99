"""Indexes of active texts and of labels serve conditions on a text or a label alone.

Revision: 0008, 2026-11-24
"""

from sqlalchemy import text

from pgrecall.migrate.operations import create_index_concurrently, drop_index_concurrently

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

MEMORIES, TEXTS = "agent_memories", ["agent_id", "content_hash", "edition"]
LABELS, VALUES = "memory_labels", ["agent_id", "value", "kind"]


def upgrade() -> None:
    create_index_concurrently(
        "ix_agent_memories_content_hash_edition",
        MEMORIES,
        TEXTS,
        unique=True,
        postgresql_where=text("content_hash IS NOT NULL AND status = 'active'"),
    )
    drop_index_concurrently("ix_agent_memories_agent_id_content_hash_edition", MEMORIES)
    create_index_concurrently(
        "ix_memory_labels_value_kind", LABELS, VALUES, postgresql_where=text("value IS NOT NULL")
    )
    drop_index_concurrently("ix_memory_labels_agent_id_value_kind", LABELS)


def downgrade() -> None:
    create_index_concurrently(
        "ix_agent_memories_agent_id_content_hash_edition",
        MEMORIES,
        TEXTS,
        unique=True,
        postgresql_where=text("status = 'active'"),
    )
    drop_index_concurrently("ix_agent_memories_content_hash_edition", MEMORIES)
    create_index_concurrently("ix_memory_labels_agent_id_value_kind", LABELS, VALUES)
    drop_index_concurrently("ix_memory_labels_value_kind", LABELS)
