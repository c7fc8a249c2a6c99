"""Index embeddings by cosine distance, concurrently and so in a revision of its own.

Revision: 0002, after 0001, 2026-11-21
"""

from pgrecall.migrate.operations import (
    create_embedding_index,
    drop_index_concurrently,
)

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = ("agent_memories", "team_memories")


def upgrade() -> None:
    for table in TABLES:
        create_embedding_index(table)


def downgrade() -> None:
    for table in TABLES:
        drop_index_concurrently(f"ix_{table}_embedding", table)
