"""Index embeddings by cosine distance, for statements of your own that order by it, if asked for.

Revision: 0002, 2026-11-28

No search of pgrecall uses this index, and it makes writing several times slower.
Each upgrade calls `upgrade` again, so that the setting can change, and an interrupted build is
repeated.
"""

from pgrecall.migrate.operations import (
    create_index_concurrently,
    drop_index_concurrently,
    extension,
    is_valid,
    require_hnsw,
    settings,
)

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

NAME, TABLE = "ix_agent_memories_embedding", "agent_memories"


def upgrade() -> None:
    valid, asked = is_valid(NAME), settings().embedding_index
    if asked is None:
        asked = valid is not None  # as it was
    if asked and not valid:
        require_hnsw()
        create_index_concurrently(
            NAME,
            TABLE,
            ["embedding"],
            postgresql_using="hnsw",
            postgresql_ops={"embedding": f"{extension()}.{settings().embedding_type}_cosine_ops"},
            postgresql_with={"m": 16, "ef_construction": 64},
        )
    elif not asked and (valid is not None or settings().embedding_index is False):
        downgrade()


def downgrade() -> None:
    drop_index_concurrently(NAME, TABLE)
