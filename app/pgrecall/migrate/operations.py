"""Operations for revisions, in addition to Alembic's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from alembic import context, op
from sqlalchemy import TextClause, text
from sqlalchemy.types import UserDefinedType

from pgrecall.core.resources import sql_folder, with_extension
from pgrecall.migrate.connecting import LOCK_TIMEOUT
from pgrecall.migrate.settings import SETTINGS, Settings


class VectorColumn(UserDefinedType[Any]):
    """A type of pgvector, in the schema where that is installed."""

    cache_ok = True

    def __init__(self, type_: str) -> None:
        self.type_ = type_

    def get_col_spec(self, **_: Any) -> str:
        return f"{extension()}.{self.type_}"


def settings() -> Settings:
    value: Settings = context.config.attributes[SETTINGS]
    return value


def extension() -> str:
    """The quoted name of the schema of pgvector."""
    return with_extension("@extschema:vector@", settings().extension_schema)


def install(path: str) -> None:
    """Runs a file of `sql/bound` and revokes its functions from PUBLIC."""
    sql = (sql_folder() / "bound" / path).read_text(encoding="utf-8")
    op.execute(text(sql.replace(":", r"\:")))
    for name in re.findall(r"^CREATE FUNCTION (\w+)", sql, re.MULTILINE):
        op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")


def load_pgvector() -> None:
    """Loads the library of pgvector. Until then, only a superuser may create functions that set its
    parameters."""
    op.execute(f"SELECT '[1]'::{extension()}.vector")


def require_hnsw() -> None:
    """Refuses an HNSW index where pgvector is too old for it, as functions of the schema do."""
    with op.get_context().autocommit_block():
        op.execute(_REQUIRE_HNSW)


# Without the functions of the schema, which are applied after revisions.
_REQUIRE_HNSW = """
    DO $$
    DECLARE
        version text := (SELECT extversion FROM pg_extension WHERE extname = 'vector');
    BEGIN
        IF string_to_array(substring(version, '^[0-9]+(?:[.][0-9]+)*'), '.')::integer[]
           < '{0,8,3}' THEN
            RAISE EXCEPTION 'pgvector % can corrupt HNSW indexes: install 0.8.3 or newer and run '
                '`ALTER EXTENSION vector UPDATE`', version USING ERRCODE = 'PM008';
        END IF;
    END $$
"""


def create_index_concurrently(
    name: str, table: str, columns: Sequence[str | TextClause], **options: Any
) -> None:
    """Builds an index without blocking writers; call it in a revision of its own.

    An interrupted build leaves an invalid index, which IF NOT EXISTS would accept, so such an index
    is dropped and built again. A valid one is left, so that an interrupted revision can be
    repeated.
    """
    schema = settings().schema
    valid = is_valid(name)
    if valid:
        return
    with _outside_of_transactions():
        if valid is False:
            _drop_index(name, table)
        op.create_index(
            name,
            table,
            list(columns),
            schema=schema,
            if_not_exists=context.is_offline_mode() or None,
            postgresql_concurrently=True,
            **options,
        )


def drop_index_concurrently(name: str, table: str) -> None:
    with _outside_of_transactions():
        _drop_index(name, table)


@contextmanager
def _outside_of_transactions() -> Iterator[None]:
    """Runs statements outside of transactions, with settings of their own.

    The settings of the run are SET LOCAL at the beginning of each transaction. There is no
    lock_timeout here, since a concurrent build has to wait for older transactions.
    """
    with op.get_context().autocommit_block():
        op.execute("SET lock_timeout = 0")
        op.execute("SET search_path = pg_catalog, pg_temp")
        yield
        offline = context.is_offline_mode()
        op.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'" if offline else "RESET lock_timeout")
        path = f'SET search_path = "{settings().schema}", pg_temp'
        op.execute(path if offline else "RESET search_path")


def _drop_index(name: str, table: str) -> None:
    op.drop_index(
        name, table, schema=settings().schema, postgresql_concurrently=True, if_exists=True
    )


def is_valid(name: str) -> bool | None:
    """False for an index whose build was interrupted; None: there is none, or nobody knows, since
    the run is offline."""
    if context.is_offline_mode():
        return None
    query = text(
        "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = :schema AND c.relname = :name"
    )
    with op.get_context().autocommit_block():
        bind = op.get_bind()
        valid: bool | None = bind.scalar(query, {"schema": settings().schema, "name": name})
    return valid
