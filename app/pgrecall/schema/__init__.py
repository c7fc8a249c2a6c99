"""The tables, their columns, and the layout of a particular database."""

from pgrecall.core.memory import TEAM
from pgrecall.schema.layout import Layout
from pgrecall.schema.revision import EMBEDDING_INDEX, REVISION, revision_of
from pgrecall.schema.tables import DEFAULT_SCHEMA, Tables, migrate_up, tables

__all__ = [
    "DEFAULT_SCHEMA",
    "EMBEDDING_INDEX",
    "REVISION",
    "TEAM",
    "Layout",
    "Tables",
    "migrate_up",
    "revision_of",
    "tables",
]
