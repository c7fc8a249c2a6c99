"""Keep the index of active texts to conditions on a text.

Revision: 0008, 2026-11-24
"""

from sqlalchemy import text

from pgrecall.migrate.operations import create_index_concurrently, drop_index_concurrently

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TABLE, COLUMNS = "agent_memories", ("agent_id", "content_hash", "edition")
BEFORE, AFTER = (
    ("ix_agent_memories_agent_id_content_hash_edition", "status = 'active'"),
    ("ix_agent_memories_content_hash_edition", "content_hash IS NOT NULL AND status = 'active'"),
)


def upgrade() -> None:
    _replace(BEFORE, AFTER)


def downgrade() -> None:
    _replace(AFTER, BEFORE)


def _replace(old: tuple[str, str], new: tuple[str, str]) -> None:
    create_index_concurrently(new[0], TABLE, COLUMNS, unique=True, postgresql_where=text(new[1]))
    drop_index_concurrently(old[0], TABLE)
