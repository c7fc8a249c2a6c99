"""Add what rank indexes need: when a row was written, the list of them, the search in one.

Revision: 0007, after 0006, 2026-11-21
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import (
    grant_to_readers,
    install,
    load_pgvector,
    search_temporary_tables_last,
    settings,
)

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLES = ("agent_memories", "team_memories")
FUNCTIONS = ("rank_candidates", "await_writers", "drop_ranks", "forget_positions")

_WITHIN = "BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'"
_DROP_POSITIONS = """
    DO $$
    DECLARE
        found regclass;
    BEGIN
        FOR found IN SELECT oid::regclass FROM pg_class
                      WHERE relnamespace = '"SCHEMA"'::regnamespace AND relkind = 'r'
                        AND relname ~ '^ranks_[0-9a-f]{32}$' LOOP
            EXECUTE format('DROP TABLE %s', found);
        END LOOP;
    END $$
"""


def upgrade() -> None:
    schema = settings().schema
    for table in TABLES:
        # Two steps: a default that differs from row to row would rewrite the table.
        op.add_column(
            table,
            sa.Column(
                "inserted_at",
                sa.DateTime(timezone=True),
                comment="When this row was written by the server's clock; NULL: before "
                "revision 0007.",
            ),
            schema=schema,
        )
        op.alter_column(
            table, "inserted_at", server_default=sa.text("clock_timestamp()"), schema=schema
        )
        # Not validated at once, so that the lock that this takes is short.
        op.create_check_constraint(
            op.f(f"ck_{table}_inserted_at"),
            table,
            f"inserted_at {_WITHIN}",
            schema=schema,
            postgresql_not_valid=True,
        )
        op.execute(f'ALTER TABLE "{schema}".{table} VALIDATE CONSTRAINT ck_{table}_inserted_at')
    _create_rank_indexes(schema)
    grant_to_readers("rank_indexes")
    search_temporary_tables_last()
    load_pgvector()
    for function in FUNCTIONS:
        install(f"rank_index/{function}.sql")


def downgrade() -> None:
    schema = settings().schema
    for function in reversed(FUNCTIONS):
        op.execute(f'DROP FUNCTION "{schema}".{function}')
    op.execute(_DROP_POSITIONS.replace("SCHEMA", schema))
    op.drop_table("rank_indexes", schema=schema)
    for table in reversed(TABLES):
        op.drop_column(table, "inserted_at", schema=schema)


def _create_rank_indexes(schema: str) -> None:
    op.create_table(
        "rank_indexes",
        _text("agent_id", "Whose memories it ranks: an agent, or a team."),
        _text("table_name", "agent_memories or team_memories."),
        _text("relation", "The table of positions that is in use, in this schema."),
        _number("space", sa.Integer(), "Version of the space they lie in."),
        _number("as_of", sa.DateTime(timezone=True), "The moment the positions are of."),
        _number(
            "built_at",
            sa.DateTime(timezone=True),
            "What is written or changed from here on is not in it and is scored beside it.",
        ),
        _number("memories", sa.BigInteger(), "Memories in it."),
        _number("at_least", sa.BigInteger(), "Used for searches from so many memories on."),
        _number("m", sa.Integer(), "Links of a node of the HNSW graph."),
        _number(
            "ef_construction", sa.Integer(), "Candidates looked at for each node when it was built."
        ),
        _number("seconds", sa.Double(), "How long the build took."),
        sa.CheckConstraint(
            "table_name IN ('agent_memories', 'team_memories')",
            name=op.f("ck_rank_indexes_table_name"),
        ),
        *(
            sa.CheckConstraint(f"{name} {_WITHIN}", name=op.f(f"ck_rank_indexes_{name}"))
            for name in ("as_of", "built_at")
        ),
        sa.PrimaryKeyConstraint("agent_id", "table_name", name=op.f("pk_rank_indexes")),
        schema=schema,
        comment="Rank indexes, one of an owner with many memories; derived and disposable.",
    )


def _text(name: str, comment: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False, comment=comment)


def _number(name: str, type_: Any, comment: str) -> sa.Column[Any]:
    return sa.Column(name, type_, nullable=False, comment=comment)
