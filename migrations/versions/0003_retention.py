"""Let a run of the garbage collection say how many old events and runs it deleted.

Revision: 0003, 2026-11-23
"""

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import settings

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# A constant default is not written to the rows, so the table is locked for a moment only.
COLUMNS = (
    ("max_event_age_hours", sa.Double, None, "Age above which it deleted events."),
    ("max_run_age_hours", sa.Double, None, "Age above which it deleted earlier runs."),
    ("events", sa.BigInteger, "0", "Events deleted for their age."),
    ("runs", sa.BigInteger, "0", "Earlier runs deleted for their age."),
)


def upgrade() -> None:
    for name, kind, default, comment in COLUMNS:
        op.add_column(
            "gc_runs",
            sa.Column(
                name,
                kind,
                nullable=default is None,
                server_default=None if default is None else sa.text(default),
                comment=comment,
            ),
            schema=settings().schema,
        )


def downgrade() -> None:
    for name, *_ in COLUMNS:
        op.drop_column("gc_runs", name, schema=settings().schema)
