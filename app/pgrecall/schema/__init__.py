"""The tables, their columns, and the layout of a particular database."""

from pgrecall.core.memory import TEAM
from pgrecall.schema.tables import DEFAULT_SCHEMA, Layout, Tables, migrate_up, tables

__all__ = [
    "DEFAULT_SCHEMA",
    "REVISION",
    "TEAM",
    "Layout",
    "Tables",
    "migrate_up",
    "tables",
]

REVISION = "0002"
"""The revision of the schema that this version of the code needs."""
