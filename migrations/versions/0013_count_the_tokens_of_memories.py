"""Keep how many tokens a memory takes up in a prompt; pack ranked memories into one.

Revision: 0013, after 0012, 2026-11-21
"""

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import install, search_temporary_tables_last, settings

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TABLES = ("agent_memories", "team_memories")


def upgrade() -> None:
    schema = settings().schema
    for table in TABLES:
        # No row is written anew: what is there is estimated when a context is packed.
        op.add_column(
            table,
            sa.Column(
                "tokens",
                sa.Integer(),
                comment="What content takes up in a prompt, as its writer counted; NULL: "
                "estimated when a context is packed.",
            ),
            schema=schema,
        )
        op.execute(
            f'ALTER TABLE "{schema}".{table} '
            f"ADD CONSTRAINT ck_{table}_tokens CHECK (tokens >= 0) NOT VALID"
        )
        op.execute(f'ALTER TABLE "{schema}".{table} VALIDATE CONSTRAINT ck_{table}_tokens')
    search_temporary_tables_last()
    install("context/pack.sql")


def downgrade() -> None:
    op.execute(f'DROP FUNCTION "{settings().schema}".pack')
    for table in TABLES:
        op.drop_column(table, "tokens", schema=settings().schema)
