"""Install what a DBA runs as functions and one procedure: outcomes, history, clearing, garbage.

Revision: 0006, after 0005, 2026-11-21
"""

from alembic import op

from pgrecall.migrate.operations import install, settings

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

FUNCTIONS = (
    "record_outcome",
    "adjust_trust",
    "record_feedback",
    "invalidate_memories",
    "revive_memories",
    "history",
    "clear_memories",
    "owners_of_memories",
    "count_garbage",
    "collect_garbage_batch",
    "archive_excess_batch",
    "sweep_orphans_batch",
)


def upgrade() -> None:
    for function in FUNCTIONS:
        install(f"operations/{function}.sql")
    install("operations/collect_garbage.sql")


def downgrade() -> None:
    schema = settings().schema
    op.execute(f'DROP PROCEDURE "{schema}".collect_garbage')
    for function in reversed(FUNCTIONS):
        op.execute(f'DROP FUNCTION "{schema}".{function}')
