"""Turns."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("user_id", sa.Text, nullable=False, index=True),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("reply", sa.Text, nullable=False),
        sa.Column("memory_ids", sa.ARRAY(sa.Uuid), nullable=False),
        sa.Column("feedback", sa.Text),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
    )


def downgrade() -> None:
    op.drop_table("turns")
