"""Tell positions of a build from those placed since: rank indexes are built anew.

Revision: 0013, 2026-11-28

Until maintenance builds them again, searches are exact.
"""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

COMMENT = (
    "True if it was written after the build: then it is not in the graph, and searches compare it."
)
# On Citus, nodes have parents of their own.
ON_NODES = """
    DO $$
    BEGIN
        IF to_regproc('run_command_on_workers') IS NOT NULL THEN
            PERFORM run_command_on_workers(
                format('ALTER TABLE IF EXISTS %I.rank_positions {}', current_schema()));
        END IF;
    END $$
"""


def upgrade() -> None:
    op.execute("ALTER TABLE rank_positions ADD placed boolean NOT NULL DEFAULT false")
    op.execute(f"COMMENT ON COLUMN rank_positions.placed IS '{COMMENT}'")
    op.execute(ON_NODES.format("ADD IF NOT EXISTS placed boolean NOT NULL DEFAULT false"))


def downgrade() -> None:
    op.execute(ON_NODES.format("DROP IF EXISTS placed"))
    op.execute("ALTER TABLE rank_positions DROP placed")
