"""The tables, and what a particular database holds of them."""

from pgrecall.schema.layout import Layout
from pgrecall.schema.revision import REVISION
from pgrecall.schema.tables import DEFAULT_SCHEMA, Tables, owner, tables

__all__ = ["DEFAULT_SCHEMA", "REVISION", "Layout", "Tables", "owner", "tables"]
