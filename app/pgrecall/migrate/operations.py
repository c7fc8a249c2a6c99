"""What revisions are made of, beside Alembic's own operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alembic import context, op
from sqlalchemy import TextClause, text
from sqlalchemy.types import UserDefinedType

from pgrecall.migrate.connecting import LOCK_TIMEOUT
from pgrecall.migrate.environment import SETTINGS
from pgrecall.migrate.settings import Settings
from pgrecall.resources import sql_folder


class EmbeddingColumn(UserDefinedType[Any]):
    """`vector(n)` or `halfvec(n)`, as the schema is created with."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return settings().column_type


def settings() -> Settings:
    found: Settings = context.config.attributes[SETTINGS]
    return found


def install(path: str) -> None:
    """Runs one of the SQL files, frozen once a migration installs it."""
    statement = (sql_folder() / path).read_text(encoding="utf-8")
    op.execute(text(statement.replace(":", r"\:")))


def search_temporary_tables_last() -> None:
    """For the functions installed next, which keep this path: else temporary tables come first."""
    op.execute(
        "SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true)"
    )


def load_pgvector() -> None:
    """For functions that set its parameters: before it is loaded only a superuser may name them."""
    op.execute("SELECT '[1]'::vector")


def grant_to_readers(*relations: str) -> None:
    """SELECT to all roles that were granted it on memories: who could search before can go on."""
    schema = settings().schema
    named = ", ".join(f'"{schema}".{relation}' for relation in relations)
    op.execute(_GRANT.replace("SCHEMA", schema).replace("RELATIONS", named))


_GRANT = """
    DO $$
    DECLARE
        role text;
    BEGIN
        FOR role IN
            SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC'
                            ELSE quote_ident(pg_get_userbyid(g.grantee)) END
              FROM pg_class c, aclexplode(c.relacl) g
             WHERE c.relnamespace = '"SCHEMA"'::regnamespace
               AND c.relname IN ('agent_memories', 'team_memories')
               AND g.privilege_type = 'SELECT' AND g.grantee <> c.relowner LOOP
            EXECUTE 'GRANT SELECT ON RELATIONS TO ' || role;
        END LOOP;
    END $$
"""


def create_index_concurrently(
    name: str, table: str, columns: Sequence[str | TextClause], **options: Any
) -> None:
    """Builds an index without blocking writers; to be called in a revision of its own.

    A build that was cut off leaves an invalid index, which IF NOT EXISTS would keep: it is
    dropped and built again. A valid one is left, so that a revision cut off later can be repeated.
    """
    schema = settings().schema
    with op.get_context().autocommit_block():
        if not context.is_offline_mode() and _is_valid(schema, name):
            return
        op.execute("SET lock_timeout = 0")  # waiting for older transactions is part of the build
        if not context.is_offline_mode() and _is_valid(schema, name) is False:
            _drop_index(name, table)
        op.create_index(
            name, table, list(columns), schema=schema, postgresql_concurrently=True, **options
        )
        _lock_timeout_as_before()


def create_embedding_index(table: str) -> None:
    """The graph of the embeddings by cosine distance."""
    create_index_concurrently(
        f"ix_{table}_embedding",
        table,
        ["embedding"],
        postgresql_using="hnsw",
        postgresql_ops={"embedding": f"{_extension()}{settings().embedding_type}_cosine_ops"},
        postgresql_with={"m": 16, "ef_construction": 64},
    )


def _extension() -> str:
    """The schema of pgvector and a dot: outside of a transaction no search_path is set."""
    if context.is_offline_mode():
        return ""
    quoted = (
        "SELECT quote_ident(n.nspname) FROM pg_extension e "
        "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    )
    return f"{op.get_bind().scalar(text(quoted))}."


def drop_index_concurrently(name: str, table: str) -> None:
    with op.get_context().autocommit_block():
        op.execute("SET lock_timeout = 0")
        _drop_index(name, table)
        _lock_timeout_as_before()


def _lock_timeout_as_before() -> None:
    """Online, each transaction sets its own."""
    offline = context.is_offline_mode()
    op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'" if offline else "RESET lock_timeout")


def _drop_index(name: str, table: str) -> None:
    op.drop_index(
        name, table, schema=settings().schema, postgresql_concurrently=True, if_exists=True
    )


def _is_valid(schema: str, name: str) -> bool | None:
    valid: bool | None = op.get_bind().scalar(
        text(
            "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = :schema AND c.relname = :name"
        ),
        {"schema": schema, "name": name},
    )
    return valid
