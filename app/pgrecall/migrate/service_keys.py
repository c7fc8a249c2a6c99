"""Keys of the HTTP service: created and revoked by the owner of the schema."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, Literal
from uuid import UUID

from sqlalchemy import Engine, func, insert, select, update

from pgrecall.core.memory import TEAM
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_name, require_one_of
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.execution.error_mapping import map_errors
from pgrecall.schema import DEFAULT_SCHEMA, tables

Scope = Literal["read", "write", "maintain"]
SCOPES: Final = ("read", "write", "maintain")
"""Each includes those before it."""
_TOKEN = re.compile(r"[A-Za-z0-9_]{1,20}_(?P<id>[0-9a-f]{12})_(?P<secret>[0-9a-f]{64})")


def create_key(
    engine: Engine,
    *,
    owners: Sequence[str],
    scope: Scope = "read",
    name: str = "unnamed",
    schema: str = DEFAULT_SCHEMA,
) -> tuple[str, str]:
    """Stores a new key. Returns its id, and its token, which cannot be read again.

    An owner is an agent, or team:<id>. Raises InputError.
    """
    require_name("name", name)
    require_one_of("scope", scope, SCOPES)
    if not owners:
        raise InputError("a key needs at least one owner")
    for owner in owners:
        require_name("owner", owner.removeprefix(TEAM))
    _require_schema(engine, schema)
    key_id = secrets.token_hex(6)
    secret, token = _new_secret(key_id)
    values = {"id": key_id, "name": name, "owners": owner_set(owners), "scope": scope}
    with map_errors(), engine.begin() as connection:
        row = {**values, "hash": hash_of_secret(secret)}
        connection.execute(insert(tables(schema).service_keys).values(row))
    return key_id, token


def revoke_key(engine: Engine, key_id: str, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Ends a key for good. Raises InputError if no key of this id is in use."""
    _require_schema(engine, schema)
    keys = tables(schema).service_keys
    revoking = update(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None))
    with map_errors(), engine.begin() as connection:
        changed = connection.execute(revoking.values(revoked_at=func.now())).rowcount
    if not changed:
        raise InputError(f"there is no key {shortened(key_id)} in use: see `pgrecall keys list`")


def list_keys(engine: Engine, *, schema: str = DEFAULT_SCHEMA) -> list[dict[str, Any]]:
    """All keys, newest first, without their hashes."""
    _require_schema(engine, schema)
    keys = tables(schema).service_keys
    shown = [column for column in keys.c if column.name != "hash"]
    with map_errors(), engine.connect() as connection:
        rows = connection.execute(select(*shown).order_by(keys.c.created_at.desc(), keys.c.id))
        return [dict(row._mapping) for row in rows]


def hash_of_secret(secret: str) -> bytes:
    """The hash to store. A secret is random, so a slow hash would protect nothing more."""
    return sha256(secret.encode()).digest()


def presented(header: str) -> tuple[str, str] | None:
    """Id and secret of an Authorization header; None if it is no key.

    What stands before the id does not matter: clients of Memory OS insist on mos_live_.
    """
    scheme, _, token = header.partition(" ")
    match = _TOKEN.fullmatch(token.strip()) if scheme.lower() == "bearer" else None
    return (match["id"], match["secret"]) if match else None


def matches(secret: str, stored: bytes | None) -> bool:
    """True if a secret has this hash. Takes the same time for every secret and for no hash."""
    return compare_digest(hash_of_secret(secret), stored or bytes(32))


def owner_set(owners: Iterable[str]) -> list[str]:
    """Each owner once, in order, so that equal sets are equal."""
    return sorted(set(owners))


def _new_secret(key_id: str) -> tuple[str, str]:
    secret = secrets.token_hex(32)
    return secret, f"pgr_{key_id}_{secret}"


def _require_schema(engine: Engine, schema: str) -> None:
    """Raises SchemaError for a schema without the table."""
    MemoryRepository(engine, schema=schema).get("pgrecall", UUID(int=0))
