"""Find the active memories of a subject.

Revision: 0006, 2026-11-23
"""

from alembic import op
from sqlalchemy import text

from pgrecall.migrate.operations import create_index_concurrently, settings

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

NAME, TABLE = "ix_agent_memories_subjects", "agent_memories"


def upgrade() -> None:
    create_index_concurrently(
        NAME,
        TABLE,
        ["agent_id", text("left(subject, 200)")],  # an entry of an index has at most 2,704 bytes
        postgresql_where=text(
            "subject IS NOT NULL AND status = 'active' AND invalidated_at IS NULL"
        ),
    )


def downgrade() -> None:
    # Later releases have replaced it.
    op.drop_index(NAME, TABLE, schema=settings().schema, if_exists=True)
