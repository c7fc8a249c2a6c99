"""Grants and revokes access of roles."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection, text

from pgrecall.core.validation import require_name, require_one_of
from pgrecall.errors import InputError
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.connecting import Target, connected
from pgrecall.migrate.state import connected_to, pin_transaction
from pgrecall.schema import DEFAULT_SCHEMA

Level = Literal["reader", "writer", "maintainer"]
LEVELS = ("reader", "writer", "maintainer")


def grant(
    target: Target,
    role: str,
    level: Level,
    *,
    schema: str = DEFAULT_SCHEMA,
) -> None:
    """Grants a role exactly one level of access.

    A reader may search, explain and read. A writer may also change memories. A maintainer may also
    build rank indexes, run maintenance and erase. Later upgrades grant new functions to the role
    too. Call this as the schema's owner. Raises InputError for an unknown role and for the owner,
    and SchemaMissing.
    """
    require_one_of("level", level, LEVELS)
    require_name("role", role)
    _call(target, schema, "grant_access(:level, :role)", {"level": level, "role": role})


def revoke(target: Target, role: str, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Revokes all access of a role. If the role was dropped, removes its entry in granted_roles.

    Raises InputError for an unknown role without an entry and for the owner, and SchemaMissing.
    """
    require_name("role", role)
    _call(target, schema, "revoke_access(:role)", {"role": role})


def protect(
    target: Target,
    role: str | None = None,
    *,
    schema: str = DEFAULT_SCHEMA,
) -> None:
    """Puts row-level security on every table of memories.

    A `role` is created unless it is there, becomes a maintainer, and may be assumed by the role
    that calls this. Call it as the schema's owner, and again after an upgrade with new tables.
    Raises InputError and SchemaMissing.
    """
    if role is not None:
        require_name("role", role)
        with map_errors(), connected(target) as connection:
            pin_transaction(connection)
            quoted = connection.dialect.identifier_preparer.quote_identifier(role)
            if not connection.scalar(_KNOWN, {"role": role}):
                connection.execute(text(f"CREATE ROLE {quoted}"))
            if not connection.scalar(_ASSUMED, {"role": role}):
                connection.execute(text(f"GRANT {quoted} TO CURRENT_USER WITH SET TRUE"))
            connection.commit()
        grant(target, role, "maintainer", schema=schema)
    _call(target, schema, "protect_owners()", {})


_KNOWN = text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :role)")
_ASSUMED = text("SELECT pg_has_role(current_user, :role, 'SET')")


_UNGUARDED = text(
    """
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = :schema AND c.relkind IN ('r', 'p')
       AND a.attname = 'agent_id' AND NOT a.attisdropped AND NOT c.relispartition
       AND NOT row_security_active(c.oid)
    """
)


def require_policies(connection: Connection, schema: str, role: str | None) -> None:
    """Raises InputError unless row-level security restricts the role that requests run as."""
    if role is not None:
        connection.execute(text("SELECT set_config('role', :role, true)"), {"role": role})
    unguarded = connection.scalars(_UNGUARDED, {"schema": schema}).all()
    connection.rollback()
    if unguarded:
        raise InputError(
            "row-level security does not restrict the role of the service, so its keys would "
            "protect nothing: run `pgrecall migrate protect --role pgrecall_service` as the owner "
            "of the schema, and then `pgrecall serve --role pgrecall_service`"
        )


def _call(target: Target, schema: str, call: str, parameters: dict[str, str]) -> None:
    with connected_to(target, schema) as connection:
        connection.execute(text(f'SELECT "{schema}".{call}'), parameters)
        connection.commit()
