"""Measure for each rank index how many candidates it takes to find what there is.

Revision: 0009, after 0008, 2026-11-21
"""

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import (
    install,
    load_pgvector,
    search_temporary_tables_last,
    settings,
)

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "rank_indexes",
        sa.Column(
            "candidates",
            sa.Integer(),
            nullable=False,
            server_default=sa.text("100"),
            comment="How many a search takes from it at first, as measured when it was built.",
        ),
        schema=settings().schema,
    )
    search_temporary_tables_last()
    load_pgvector()
    install("rank_index/calibrated_candidates.sql")


def downgrade() -> None:
    schema = settings().schema
    op.execute(f'DROP FUNCTION "{schema}".calibrated_candidates')
    op.drop_column("rank_indexes", "candidates", schema=schema)
