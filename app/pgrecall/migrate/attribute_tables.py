"""Checks that the tables of a profile's attributes are there, and can be joined by memory."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.profile import Profile

NUMBERS: Final = ("smallint", "integer", "bigint", "real", "double precision", "numeric")
_KEY: Final = {"agent_id": ("text", "character varying"), "memory_id": ("uuid",)}
_COLUMNS: Final = text("""
    SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type,
           EXISTS (SELECT FROM pg_index i
                     JOIN pg_attribute one
                       ON one.attrelid = c.oid AND one.attnum = i.indkey[0]
                     JOIN pg_attribute two
                       ON two.attrelid = c.oid AND two.attnum = i.indkey[1]
                    WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL
                      AND least(one.attname, two.attname) = 'agent_id'
                      AND greatest(one.attname, two.attname) = 'memory_id') AS is_indexed
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = :schema AND c.relname = :table AND c.relkind IN ('r', 'p')
""")


def require_tables(connection: Connection, profile: Profile) -> None:
    """Raises InvalidProfile if an attribute cannot be read from its table."""
    for signal in profile.signals:
        if isinstance(signal, Attribute) and signal.table is not None:
            _require_table(connection, signal)


def _require_table(connection: Connection, signal: Attribute) -> None:
    assert signal.column is not None
    table = f"{signal.schema}.{signal.table}"
    rows = connection.execute(_COLUMNS, {"schema": signal.schema, "table": signal.table}).all()
    if not rows:
        raise InvalidProfile(
            f"{signal.name}: there is no table {shortened(table)}; create it first"
        )
    types = {row.name: row.type for row in rows}
    for column, known in (_KEY | {signal.column: NUMBERS}).items():
        if types.get(column) not in known:
            has = f"is {types[column]}" if column in types else "is missing"
            raise InvalidProfile(
                f"{signal.name}: the column {shortened(column)} of {shortened(table)} {has}; it "
                f"must be {' or '.join(known)}"
            )
    if not rows[0].is_indexed:
        raise InvalidProfile(
            f"{signal.name}: {shortened(table)} has no index that begins with agent_id and "
            "memory_id, so each memory would read all of it; make them its primary key"
        )
