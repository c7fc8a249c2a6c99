"""Remember the model that made the embeddings of the schema.

Revision: 0002, 2026-11-23
"""

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import settings

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLE = "embedding_model"
GRANT = """
    DO $$
    DECLARE
        command text;
    BEGIN
        FOR command IN
            SELECT format('GRANT %s ON embedding_model TO %I', CASE g.level WHEN 'reader' THEN 'SELECT'
                          ELSE 'SELECT, INSERT, UPDATE, DELETE' END, r.rolname)
              FROM granted_roles g JOIN pg_roles r ON r.rolname = g.role LOOP
            EXECUTE command;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column(
            "is_set",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("true"),
            comment="Always true: there is one row at most.",
        ),
        sa.Column("model", sa.Text(), nullable=False, comment="What its embedder calls it."),
        sa.PrimaryKeyConstraint("is_set", name=op.f(f"pk_{TABLE}")),
        sa.CheckConstraint("is_set", name=op.f(f"ck_{TABLE}_is_set")),
        sa.CheckConstraint("model <> ''", name=op.f(f"ck_{TABLE}_model")),
        schema=settings().schema,
        comment="The model that made the embeddings; no row until an embedder has made one.",
    )
    op.execute(GRANT)


def downgrade() -> None:
    op.drop_table(TABLE, schema=settings().schema)
