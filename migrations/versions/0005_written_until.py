"""Let a rank index say until when what was written is in it, apart from when it was built.

Revision: 0005, 2026-11-23
"""

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import settings

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLE, COLUMN = "rank_indexes", "written_until"
NOT_IN_IT = "Memories written or changed from then on are not in it and are scored beside it."


def upgrade() -> None:
    schema = settings().schema
    column = sa.Column(COLUMN, sa.DateTime(timezone=True), comment=NOT_IN_IT)
    op.add_column(TABLE, column, schema=schema)
    op.execute(f"UPDATE {TABLE} SET {COLUMN} = built_at")  # noqa: S608  # a row for each large owner
    op.alter_column(TABLE, COLUMN, nullable=False, schema=schema)
    within = f"{COLUMN} BETWEEN '0001-01-02 00:00:00+00' AND '9999-12-30 00:00:00+00'"
    op.create_check_constraint(op.f(f"ck_{TABLE}_{COLUMN}"), TABLE, within, schema=schema)
    op.execute(f"COMMENT ON COLUMN {TABLE}.built_at IS 'When its build began.'")


def downgrade() -> None:
    op.drop_column(TABLE, COLUMN, schema=settings().schema)
    op.execute(f"COMMENT ON COLUMN {TABLE}.built_at IS '{NOT_IN_IT}'")
