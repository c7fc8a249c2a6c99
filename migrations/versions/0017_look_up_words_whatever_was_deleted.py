"""Look up words whatever was deleted since, and let no plan and no build keep a former language.

Revision: 0017, after 0016, 2026-11-22
"""

from alembic import op

from pgrecall.migrate.operations import (
    install,
    load_pgvector,
    search_temporary_tables_last,
    settings,
)

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    search_temporary_tables_last()
    load_pgvector()
    install("words/0017/worded_candidates.sql")
    install("words/0017/change_text_language.sql")


def downgrade() -> None:
    schema = settings().schema
    search_temporary_tables_last()
    load_pgvector()
    op.execute(f'DROP FUNCTION "{schema}".worded_candidates')
    install("words/0014/worded_candidates.sql")
    op.execute(f'DROP FUNCTION "{schema}".change_text_language')
    install("words/change_text_language.sql")
    op.execute(f'REVOKE ALL ON FUNCTION "{schema}".change_text_language FROM PUBLIC')
