"""Store the mean of each owner's embeddings, and the names that questions may call entities by.

Revision: 0008, 2026-11-26
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from pgrecall.migrate.operations import settings

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

VECTORS, NAMES = "owner_vectors", "entity_names"
YEARS = "'0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'"
# Roles that have a level, and policies that the other tables have, reach the new tables.
GUARD = """
    DO $$
    DECLARE
        command text;
    BEGIN
        FOR command IN
            SELECT format('GRANT %s ON %I TO %I', r.rights, t.name, o.rolname)
              FROM granted_roles g JOIN pg_roles o ON o.rolname = g.role
             CROSS JOIN (VALUES ('owner_vectors'), ('entity_names')) t(name)
             CROSS JOIN LATERAL (SELECT CASE g.level WHEN 'reader' THEN 'SELECT'
                                 ELSE 'SELECT, INSERT, UPDATE, DELETE' END AS rights) r
            UNION ALL
            SELECT format(c.command, t.name)
              FROM pg_class m
             CROSS JOIN (VALUES ('owner_vectors'), ('entity_names')) t(name)
             CROSS JOIN (VALUES
                   ('CREATE POLICY owners ON %I USING (agent_id = ANY (nullif('
                    'current_setting(''pgrecall.owners'', true), '''')::text[]))'),
                   ('ALTER TABLE %I ENABLE ROW LEVEL SECURITY')) c(command)
             WHERE m.oid = 'agent_memories'::regclass AND m.relrowsecurity LOOP
            EXECUTE command;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    op.create_table(
        VECTORS,
        sa.Column(
            "agent_id", sa.Text(), nullable=False, comment="Whose memories they are made of."
        ),
        sa.Column(
            "mean",
            postgresql.ARRAY(postgresql.REAL()),
            comment="Mean of the embeddings of active memories, each of length 1; NULL: too few.",
        ),
        sa.Column(
            "memories",
            sa.BigInteger(),
            nullable=False,
            comment="How many memories it was computed of.",
        ),
        sa.Column(
            "latest",
            sa.DateTime(timezone=True),
            comment="The latest created_at of these; a search as of an earlier moment does not use "
            "the mean.",
        ),
        sa.Column(
            "computed_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="When it was computed, by the server's clock.",
        ),
        sa.Column(
            "taste",
            postgresql.ARRAY(postgresql.REAL()),
            comment="Mean, of length 1, of memories with more successes than failures.",
        ),
        sa.Column(
            "taste_at",
            sa.DateTime(timezone=True),
            comment="When it was computed; NULL: there is none.",
        ),
        sa.Column(
            "successes",
            sa.BigInteger(),
            comment="How many more successes than failures they had then.",
        ),
        sa.PrimaryKeyConstraint("agent_id", name=op.f(f"pk_{VECTORS}")),
        *(
            check(VECTORS, one, f"{one} BETWEEN {YEARS}")
            for one in ("latest", "computed_at", "taste_at")
        ),
        schema=settings().schema,
        comment="Vectors of whole owners; derived, and can be computed again.",
    )
    op.create_table(
        NAMES,
        sa.Column("agent_id", sa.Text(), nullable=False, comment="Whose memories name it."),
        sa.Column(
            "word",
            sa.Text(collation="C"),
            nullable=False,
            comment="The first word of the name, by which it is looked up.",
        ),
        sa.Column(
            "name",
            sa.Text(),
            nullable=False,
            comment="How it is spelled: lower case, no accents, single spaces.",
        ),
        sa.Column(
            "kind",
            sa.Text(),
            nullable=False,
            comment="entity or subject of a memory, or alias of one.",
        ),
        sa.Column(
            "entity",
            sa.Text(),
            nullable=False,
            comment="The entity or subject, as memories have it.",
        ),
        sa.PrimaryKeyConstraint(
            "agent_id", "word", "name", "kind", "entity", name=op.f(f"pk_{NAMES}")
        ),
        check(NAMES, "kind", "kind IN ('entity', 'subject', 'alias')"),
        check(NAMES, "entity", "entity <> '' AND length(entity) <= 200"),
        schema=settings().schema,
        comment="Names by which questions may call the entities and subjects of memories.",
    )
    for end in ("left", "right"):
        op.create_index(
            op.f(f"ix_{NAMES}_{end}"),
            NAMES,
            ["agent_id", sa.text(f'"{end}"(word, 3)')],
            schema=settings().schema,
            postgresql_where=sa.text("length(word) >= 6"),
        )
    op.create_index(
        op.f(f"ix_{NAMES}_entity"), NAMES, ["agent_id", "kind", "entity"], schema=settings().schema
    )
    op.execute(GUARD)


def downgrade() -> None:
    for table in (NAMES, VECTORS):
        op.drop_table(table, schema=settings().schema)


def check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))
