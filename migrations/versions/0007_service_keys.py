"""Store the keys of the HTTP service.

Revision: 0007, 2026-11-23
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from pgrecall.migrate.operations import settings

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLE = "service_keys"
YEARS = "'0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'"
GRANT = """
    DO $$
    DECLARE
        command text;
    BEGIN
        FOR command IN
            SELECT format('GRANT SELECT ON service_keys TO %I', r.rolname)
              FROM granted_roles g JOIN pg_roles r ON r.rolname = g.role
             WHERE g.level = 'maintainer' LOOP
            EXECUTE command;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    op.create_table(
        TABLE,
        text("id", "What the key is called; a part of its token."),
        text("name", "What it is for, in the words of whoever created it."),
        sa.Column("hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of its secret."),
        sa.Column(
            "owners",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            server_default=sa.text("'{}'::text[]"),
            comment="Whose memories it is for; a team is team:<id>.",
        ),
        text("scope", "read, write or maintain; each includes those before it."),
        moment("created_at", "When it was created.", nullable=False, server_default=sa.func.now()),
        moment("revoked_at", "When it was revoked; NULL: in use.", nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{TABLE}")),
        check("name", "name <> '' AND length(name) <= 200"),
        check("hash", "octet_length(hash) = 32"),
        check("owners", "cardinality(owners) > 0 AND array_position(owners, NULL) IS NULL"),
        check("scope", "scope IN ('read', 'write', 'maintain')"),
        *(check(one, f"{one} BETWEEN {YEARS}") for one in ("created_at", "revoked_at")),
        schema=settings().schema,
        comment="Keys of the HTTP service, from pgrecall keys; their secrets are not stored.",
    )
    op.execute(GRANT)


def downgrade() -> None:
    op.drop_table(TABLE, schema=settings().schema)


def text(name: str, comment: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=False, comment=comment)


def moment(name: str, comment: str, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), comment=comment, **options)


def check(name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{TABLE}_{name}"))
