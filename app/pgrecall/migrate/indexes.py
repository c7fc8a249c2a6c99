"""Builds the indexes that no revision has built, after the revisions, and drops what they replace.

No client names an index. A revision for one would make clients of the release before refuse the
schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Column, Connection, text

from pgrecall.migrate.operations import create_index_concurrently, drop_index_concurrently
from pgrecall.schema import DEFAULT_SCHEMA, tables

REPLACED: Final[Mapping[str, str]] = {
    "ix_agent_memories_content_hash_edition": "ix_agent_memories_agent_id_content_hash_edition",
    "ix_memory_labels_value_kind": "ix_memory_labels_agent_id_value_kind",
    "ix_agent_memories_newest_of_subject": "ix_agent_memories_subjects",
}
"""Each index that the tables declare and no revision builds, and the one that it replaces."""
ADDED: Final = ("ix_memory_usage_successful",)
"""Indexes that replace none."""


def pending(connection: Connection, schema: str) -> list[str]:
    """The indexes that `replace` would build or drop."""
    rows = connection.execute(
        text(
            "SELECT c.relname, i.indisvalid FROM pg_index i "
            "JOIN pg_class c ON c.oid = i.indexrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema"
        ),
        {"schema": schema},
    )
    valid = {name: is_valid for name, is_valid in rows}  # noqa: C416  Row is no tuple to mypy
    return [name for name in (*REPLACED, *ADDED) if not valid.get(name)] + [
        name for name in REPLACED.values() if name in valid
    ]


def replace(context: MigrationContext) -> None:
    """Builds and drops them concurrently; called outside of a transaction."""
    declared = {
        str(index.name): index
        for table in tables(DEFAULT_SCHEMA).metadata.sorted_tables
        for index in table.indexes
    }
    with Operations.context(context):
        for new in (*REPLACED, *ADDED):
            index = declared[new]
            table = str(index.table.name)  # type: ignore[union-attr]
            columns: list[Any] = [
                one.name if isinstance(one, Column) else one for one in index.expressions
            ]
            create_index_concurrently(
                new, table, columns, unique=index.unique, **index.dialect_kwargs
            )
            if new in REPLACED:
                drop_index_concurrently(REPLACED[new], table)
