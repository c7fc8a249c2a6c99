"""Keep back for a type of memory only what its memories may still take, and hand the rest on.

Revision: 0016, after 0015, 2026-11-22
"""

from alembic import op

from pgrecall.migrate.operations import install, search_temporary_tables_last, settings

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    search_temporary_tables_last()
    _drop()
    install("context/0016/pack.sql")


def downgrade() -> None:
    search_temporary_tables_last()
    _drop()
    install("context/pack.sql")


def _drop() -> None:
    op.execute(f'DROP FUNCTION "{settings().schema}".pack')
