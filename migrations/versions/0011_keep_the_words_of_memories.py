"""Keep the words of memories beside their texts, for the keyword signal and the filter by text.

Revision: 0011, after 0010, 2026-11-21

A generated column, so that whoever writes a text writes its words too. Adding it writes the tables
anew, under a lock that holds off everybody; without the graphs of the embeddings, which would
take most of the time and are gone for that while.
"""

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from pgrecall.migrate.operations import (
    grant_to_readers,
    install,
    search_temporary_tables_last,
    settings,
)
from pgrecall.migrate.status import require_known_language

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TABLES = ("agent_memories", "team_memories")
BEFORE_THE_COLUMN = (
    *("folded", "lexemes", "word_filter", "query_terms"),
    *("term_key", "term_keys", "term_weight"),
)
AFTER_IT = (
    *("term_weights", "keyword_shares", "common_terms", "word_candidates"),
    "change_text_language",
)
VIEWS = ("memory_terms", "telling_terms")


def upgrade() -> None:
    schema = settings().schema
    search_temporary_tables_last()
    _create_text_language(schema)
    for function in BEFORE_THE_COLUMN:
        install(f"words/{function}.sql")
    for table in TABLES:
        op.add_column(
            table,
            sa.Column(
                "terms",
                TSVECTOR(),
                sa.Computed(f'"{schema}".lexemes(content)', persisted=True),
                nullable=False,
                comment="The words of content as they are compared, with their places.",
            ),
            schema=schema,
        )
    for name, type_, comment in (
        ("term_memories", sa.BigInteger(), "The owner's memories when it was built."),
        ("common_terms", JSONB(), "Terms that many of them had, and how many; others are counted."),
    ):
        op.add_column("rank_indexes", sa.Column(name, type_, comment=comment), schema=schema)
    install("views/memory_terms.sql")
    for function in AFTER_IT:
        install(f"words/{function}.sql")
    install("views/telling_terms.sql")
    op.execute(f'REVOKE ALL ON FUNCTION "{schema}".change_text_language FROM PUBLIC')
    grant_to_readers(*VIEWS)


def downgrade() -> None:
    schema = settings().schema
    for function in reversed(AFTER_IT):
        op.execute(f'DROP FUNCTION "{schema}".{function}')
    for view in reversed(VIEWS):
        op.execute(f'DROP VIEW "{schema}".{view}')
    for name in ("common_terms", "term_memories"):
        op.drop_column("rank_indexes", name, schema=schema)
    for table in reversed(TABLES):
        op.drop_column(table, "terms", schema=schema)
    for function in reversed(BEFORE_THE_COLUMN):
        op.execute(f'DROP FUNCTION "{schema}".{function}')
    op.execute(f'DROP FUNCTION "{schema}".text_language')


def _create_text_language(schema: str) -> None:
    language = settings().language
    if not context.is_offline_mode():
        require_known_language(op.get_bind(), language)
    op.execute(
        f'CREATE FUNCTION "{schema}".text_language() RETURNS regconfig '
        f"LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN '{language}'::regconfig"
    )
    op.execute(
        f'COMMENT ON FUNCTION "{schema}".text_language IS '
        "'The language by which words are compared; changed by change_text_language.'"
    )
