"""pgrecall keys create, list, revoke"""

from __future__ import annotations

from typing import Annotated

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.output import Output, table
from pgrecall.cli.parsers import argument, option
from pgrecall.migrate.service_keys import create_key, list_keys, revoke_key

app = App(
    name="keys",
    help="Create, list and revoke the keys of `pgrecall serve`.",
    no_args_is_help=True,
)

KEY_ID = argument("The key's id, as `pgrecall keys list` shows it.", metavar="KEY")
SHOWN_ONCE = "The token is shown this once. Send it as Authorization: Bearer TOKEN."
RESTART = "A service that was started without keys asks for them once it is started again."


@app.method(
    create_key,
    "pgrecall keys create --owner zoe --scope write --name assistant",
    "pgrecall keys create --owner zoe --owner team:red --scope read",
    owners=option(
        "Agent, or team:NAME, whose memories it is for. May be repeated.",
        "--owner",
        metavar="OWNER",
    ),
    scope=Annotated[str, option("read, write or maintain; each includes those before it.")],
    name=option("What it is for."),
)
def create(call: Call) -> Output:
    """Create a key, and print its token."""
    key_id, token = call()
    notes = [f"Key {key_id}. {SHOWN_ONCE}", RESTART]
    return Output([{"id": key_id, "token": token}], token, notes=notes)


@app.method(list_keys, "pgrecall keys list", "pgrecall keys list --json")
def list_(call: Call) -> Output:
    """List the keys, without their secrets."""
    keys = call()
    rows = [
        (
            key["id"],
            key["name"],
            ", ".join(key["owners"]),
            key["scope"],
            f"{key['created_at']:%Y-%m-%d}",
            "in use" if key["revoked_at"] is None else f"revoked {key['revoked_at']:%Y-%m-%d}",
        )
        for key in keys
    ]
    columns = ("id", "name", "owners", "scope", "created", "state")
    return Output(keys, table(*columns, rows=rows), otherwise="There are no keys.")


@app.method(revoke_key, "pgrecall keys revoke 0f3a52c1b7d9", key_id=KEY_ID)
def revoke(call: Call) -> Output:
    call()
    key_id = call.arguments["key_id"]
    return Output([{"id": key_id, "revoked": True}], f"key {key_id} is revoked")
