"""pgrecall keys create, list, rotate, revoke"""

from __future__ import annotations

from typing import Annotated, cast

from pgrecall.cli.app import App
from pgrecall.cli.database import Database
from pgrecall.cli.output import Output, table
from pgrecall.cli.written import argument, option
from pgrecall.migrate.service_keys import Scope, create_key, list_keys, revoke_key, rotate_key

app = App(
    name="keys",
    panel="Administer",
    help="Create, list, rotate and revoke the keys of `pgrecall serve`.",
    no_args_is_help=True,
)

KeyId = Annotated[str, argument("The key's id, as `pgrecall keys list` shows it.")]
SHOWN_ONCE = "The token is shown this once. Send it as Authorization: Bearer TOKEN."
RESTART = "A service that was started without keys asks for them once it is started again."


@app.declare(
    "pgrecall keys create --owner zoe --scope write --name assistant",
    "pgrecall keys create --owner zoe --owner team:red --scope read",
)
def create(
    database: Database,
    owner: Annotated[
        list[str], option("Agent, or team:NAME, whose memories it is for. May be repeated.")
    ],
    scope: Annotated[
        str, option("read, write or maintain; each includes those before it.")
    ] = "read",
    name: Annotated[str, option("What it is for.")] = "unnamed",
) -> Output:
    """Create a key, and print its token."""
    with database.engine() as engine:
        key_id, token = create_key(
            engine, owners=owner, scope=cast(Scope, scope), name=name, schema=database.schema
        )
    return Output(
        [{"id": key_id, "token": token}], token, notes=[f"Key {key_id}. {SHOWN_ONCE}", RESTART]
    )


@app.declare("pgrecall keys list", "pgrecall keys list --json", name="list")
def list_(database: Database) -> Output:
    """List the keys, without their secrets."""
    with database.engine() as engine:
        found = list_keys(engine, schema=database.schema)
    rows = [
        (
            one["id"],
            one["name"],
            ", ".join(one["owners"]),
            one["scope"],
            f"{one['created_at']:%Y-%m-%d}",
            "in use" if one["revoked_at"] is None else f"revoked {one['revoked_at']:%Y-%m-%d}",
        )
        for one in found
    ]
    columns = ("id", "name", "owners", "scope", "created", "state")
    return Output(found, table(*columns, rows=rows), otherwise="There are no keys.")


@app.declare("pgrecall keys rotate 0f3a52c1b7d9")
def rotate(database: Database, key: KeyId) -> Output:
    """Give a key a new secret, and print its token. The old one ends within seconds."""
    with database.engine() as engine:
        token = rotate_key(engine, key, schema=database.schema)
    return Output([{"id": key, "token": token}], token, notes=[SHOWN_ONCE])


@app.declare("pgrecall keys revoke 0f3a52c1b7d9")
def revoke(database: Database, key: KeyId) -> Output:
    """End a key for good, within seconds."""
    with database.engine() as engine:
        revoke_key(engine, key, schema=database.schema)
    return Output([{"id": key, "revoked": True}], f"key {key} is revoked")
