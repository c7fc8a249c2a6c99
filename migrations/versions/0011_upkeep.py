"""Let runs of the garbage collection note what else an upkeep did; find expired memories.

Revision: 0011, 2026-11-27
"""

from alembic import op
from sqlalchemy import text

from pgrecall.migrate.operations import create_index_concurrently, settings

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

NAME, TABLE = "ix_agent_memories_agent_id_expires_at", "agent_memories"


def upgrade() -> None:
    op.execute("ALTER TABLE gc_runs ADD tasks jsonb")
    op.execute(
        "COMMENT ON COLUMN gc_runs.tasks IS 'How many tasks of each kind an upkeep did, and left; "
        "NULL: a garbage collection alone.'"
    )
    create_index_concurrently(
        NAME,
        TABLE,
        ["agent_id", "expires_at"],
        postgresql_where=text("expires_at IS NOT NULL AND status <> 'archived'"),
    )


def downgrade() -> None:
    op.drop_index(NAME, TABLE, schema=settings().schema, if_exists=True)
    op.execute("ALTER TABLE gc_runs DROP tasks")
