"""Distributes a schema over the nodes of a Citus cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from pgrecall.core.quoting import cut
from pgrecall.core.validation import require_schema_name
from pgrecall.errors import DatabaseError, MigrationFailed, SchemaOutdated
from pgrecall.execution.error_mapping import map_errors
from pgrecall.execution.inspection import schema_missing
from pgrecall.migrate.connecting import LOCK_TIMEOUT, Target, own_connection
from pgrecall.migrate.locking import exclusive, guarding
from pgrecall.migrate.state import pin_transaction, read_nodes, read_status
from pgrecall.schema import DEFAULT_SCHEMA, migrate_up


@dataclass(frozen=True, slots=True)
class Distribution:
    """The changes of `distribute`, and the nodes where the memories are now."""

    distributed_tables: Sequence[str]
    """Tables now distributed by agent_id, so that all rows of an owner are on one node."""
    reference_tables: Sequence[str]
    """Small tables that every node now has a copy of."""
    functions: Sequence[str]
    """Functions that every node now has, and most of which run where their owner's rows are."""
    dropped_rank_indexes: Sequence[str]
    """Owners whose rank index was dropped: it was on this node. Build them again."""
    nodes: Mapping[str, int]
    """The nodes with memories, as host:port, and how many shards each has."""


def distribute(target: Target, *, schema: str = DEFAULT_SCHEMA) -> Distribution:
    """Distributes the tables of a schema by the owners of memories, on a coordinator of Citus.

    This is one transaction, and writers wait until it ends. It can be repeated, and `upgrade` works
    as before. Rank indexes are dropped, since each has to be on the node of its owner: build
    them again. Call it as the schema's owner.

    Raises SchemaMissing, SchemaOutdated, and MigrationFailed where the database has no Citus, one
    older than 12.1, or is not the coordinator.
    """
    require_schema_name(schema)
    try:
        with map_errors(), own_connection(target) as connection:
            pin_transaction(connection)
            _require_newest(connection, schema)
            connection.rollback()
            with guarding(connection) as guard, exclusive(guard, schema):
                pin_transaction(connection)
                connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))
                rows = connection.execute(
                    text(f'SELECT what, name FROM "{schema}".distribute()')
                ).all()
                nodes = read_nodes(connection, schema)
                connection.commit()
    except DatabaseError as error:
        cause = error.__cause__
        if type(error) is not DatabaseError or not isinstance(cause, DBAPIError):
            raise
        raise MigrationFailed(f"nothing was distributed: {_message(cause)}") from cause
    names: dict[str, list[str]] = {}
    for what, name in rows:
        names.setdefault(what, []).append(name)
    return Distribution(
        distributed_tables=names.get("distributed table", []),
        reference_tables=names.get("reference table", []),
        functions=names.get("function", []),
        dropped_rank_indexes=names.get("rank index", []),
        nodes=nodes,
    )


def _require_newest(connection: Connection, schema: str) -> None:
    status = read_status(connection, schema)
    if status.revision is None:
        raise schema_missing(schema)
    if status.pending:
        raise SchemaOutdated(
            f"schema {schema!r} is not up to date: {migrate_up(schema)} before distributing it"
        )


def _message(error: DBAPIError) -> str:
    diagnosis = getattr(error.orig, "diag", None)
    return cut(getattr(diagnosis, "message_primary", None) or str(error.orig))
