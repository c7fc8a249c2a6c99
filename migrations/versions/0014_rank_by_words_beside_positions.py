"""Nominate candidates by position and words together, from the table of a rank index alone.

Revision: 0014, after 0013, 2026-11-22

Rank indexes built before have no words beside their positions; they nominate as they did until
maintenance builds them anew.
"""

from alembic import op

from pgrecall.migrate.operations import (
    install,
    load_pgvector,
    search_temporary_tables_last,
    settings,
)

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

NEW = ("memories_of", "worded_candidates")
REPLACED = ("term_weights", "keyword_shares")


def upgrade() -> None:
    schema = settings().schema
    search_temporary_tables_last()
    load_pgvector()
    for function in NEW:
        install(f"words/0014/{function}.sql")
    for function in REPLACED:
        install(f"words/0014/{function}.sql")
    op.execute(f'DROP FUNCTION "{schema}".rank_candidates')
    install("rank_index/0014/rank_candidates.sql")


def downgrade() -> None:
    schema = settings().schema
    search_temporary_tables_last()
    load_pgvector()
    op.execute(f'DROP FUNCTION "{schema}".rank_candidates')
    install("rank_index/rank_candidates.sql")
    for function in REPLACED:
        op.execute(f'DROP FUNCTION "{schema}".{function}')
        install(f"words/{function}.sql")
    for function in NEW:
        op.execute(f'DROP FUNCTION "{schema}".{function}')
