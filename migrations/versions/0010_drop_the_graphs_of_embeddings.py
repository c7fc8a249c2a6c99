"""Drop the graphs of the embeddings, so that the next revision need not build them under its lock.

Revision: 0010, after 0009, 2026-11-21

Revision 0012 builds them again, concurrently. Until then nothing is slower but finding near
duplicates.
"""

from pgrecall.migrate.operations import (
    create_embedding_index,
    drop_index_concurrently,
)

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

TABLES = ("agent_memories", "team_memories")


def upgrade() -> None:
    for table in TABLES:
        drop_index_concurrently(f"ix_{table}_embedding", table)


def downgrade() -> None:
    for table in reversed(TABLES):
        create_embedding_index(table)
