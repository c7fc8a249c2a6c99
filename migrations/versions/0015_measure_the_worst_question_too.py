"""Measure for each rank index how many candidates leave no question without most of its answer.

Revision: 0015, after 0014, 2026-11-22
"""

from alembic import op

from pgrecall.migrate.operations import (
    install,
    load_pgvector,
    search_temporary_tables_last,
    settings,
)

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    search_temporary_tables_last()
    load_pgvector()
    _drop()
    install("rank_index/0015/calibrated_candidates.sql")


def downgrade() -> None:
    search_temporary_tables_last()
    load_pgvector()
    _drop()
    install("rank_index/calibrated_candidates.sql")


def _drop() -> None:
    op.execute(f'DROP FUNCTION "{settings().schema}".calibrated_candidates')
