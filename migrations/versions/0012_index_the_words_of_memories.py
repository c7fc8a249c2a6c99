"""Index the words of memories, and their embeddings again; the profiles' functions take words.

Revision: 0012, after 0011, 2026-11-21
"""

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import (
    create_embedding_index,
    create_index_concurrently,
    drop_index_concurrently,
    install,
    search_temporary_tables_last,
    settings,
)

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

MEMORIES = (("agent_memories", "agent_id", "false"), ("team_memories", "team_id", "true"))
PROFILES = ("five_factor", "last_access", "half_life", "trust", "tiered")


def upgrade() -> None:
    schema = settings().schema
    for table, owner, of_team in MEMORIES:
        create_index_concurrently(
            f"ix_{table}_words",
            table,
            [sa.text(f'"{schema}".term_keys({owner}, {of_team}, terms)')],
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
        )
        create_embedding_index(table)
    _install(schema, "0012")
    install("profiles/0012/hybrid.sql")


def downgrade() -> None:
    schema = settings().schema
    # First what is committed at once, so that a way down that was cut off can be repeated.
    for table, _, _ in reversed(MEMORIES):
        drop_index_concurrently(f"ix_{table}_embedding", table)
        drop_index_concurrently(f"ix_{table}_words", table)
    op.execute(f'DROP FUNCTION "{schema}".recall_hybrid')
    _install(schema, "0006")


def _install(schema: str, edition: str) -> None:
    search_temporary_tables_last()
    for profile in PROFILES:
        op.execute(f'DROP FUNCTION "{schema}".recall_{profile}')
        install(f"profiles/{edition}/{profile}.sql")
