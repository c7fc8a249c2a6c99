"""Quotes names of schemas and tables for statements."""

from __future__ import annotations

from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import dialect

_preparer = dialect().identifier_preparer  # type: ignore[no-untyped-call]


def quoted(name: str) -> str:
    """The name, quoted if necessary."""
    return str(_preparer.quote(name))


def full_name(table: Table) -> str:
    """The table's name with its schema."""
    return str(_preparer.format_table(table))
