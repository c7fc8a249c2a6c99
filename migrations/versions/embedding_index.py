"""Index embeddings by cosine distance, for statements of your own that order by it. Optional.

Revision: embedding_index, on a branch of its own beside 0001, 2026-11-22

No search of pgrecall uses this index, and it makes writing several times slower:
`make bench-life` measures how much. It is built concurrently, so in a revision of its own.
"""

from pgrecall.migrate.operations import (
    create_index_concurrently,
    drop_index_concurrently,
    extension,
    require_hnsw,
    settings,
)

revision = "embedding_index"
down_revision = None
branch_labels = None
depends_on = "0001"

NAME, TABLE = "ix_agent_memories_embedding", "agent_memories"


def upgrade() -> None:
    require_hnsw()
    create_index_concurrently(
        NAME,
        TABLE,
        ["embedding"],
        postgresql_using="hnsw",
        postgresql_ops={"embedding": f"{extension()}.{settings().embedding_type}_cosine_ops"},
        postgresql_with={"m": 16, "ef_construction": 64},
    )


def downgrade() -> None:
    drop_index_concurrently(NAME, TABLE)
