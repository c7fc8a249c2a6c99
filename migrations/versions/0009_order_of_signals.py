"""Let installed profiles keep the order of their signals, in which a score is summed.

Revision: 0009, 2026-11-26
"""

from alembic import op
from sqlalchemy.dialects.postgresql import JSON, JSONB

from pgrecall.migrate.operations import settings

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _become(JSON())


def downgrade() -> None:
    _become(JSONB())


def _become(type_: JSON) -> None:
    op.alter_column(
        "profiles",
        "definition",
        type_=type_,
        postgresql_using=f"definition::{type_.__visit_name__.lower()}",
        schema=settings().schema,
    )
