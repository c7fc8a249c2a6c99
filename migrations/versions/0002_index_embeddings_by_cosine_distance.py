"""Index embeddings by cosine distance, concurrently and so in a revision of its own.

Revision: 0002, after 0001, 2026-11-21
"""

from pgrecall.migrate.operations import (
    create_index_concurrently,
    drop_index_concurrently,
    settings,
)

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = ("agent_memories", "team_memories")


def upgrade() -> None:
    for table in TABLES:
        create_index_concurrently(
            f"ix_{table}_embedding",
            table,
            ["embedding"],
            postgresql_using="hnsw",
            postgresql_ops={"embedding": f"{settings().embedding_type}_cosine_ops"},
            postgresql_with={"m": 16, "ef_construction": 64},
        )


def downgrade() -> None:
    for table in TABLES:
        drop_index_concurrently(f"ix_{table}_embedding", table)
