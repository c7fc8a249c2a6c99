"""pgrecall profiles list|show|install"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from sqlalchemy import text

from pgrecall import profiles
from pgrecall.cli.database import AsJson, DatabaseUrl, Schema, opened
from pgrecall.cli.output import console, print_json
from pgrecall.errors import InvalidProfile
from pgrecall.migrate.connecting import own_connection
from pgrecall.profile import Profile
from pgrecall.profile_file import as_values
from pgrecall.profiles import BUILT_IN
from pgrecall.recall_function import function_name, readable, recall_function
from pgrecall.repository.translation import translated
from pgrecall.schema import DEFAULT_SCHEMA

app = typer.Typer(help="Built-in profiles and your own.", no_args_is_help=True)

NameOrFile = Annotated[
    str, typer.Argument(help="A built-in profile's name, or a .toml or .json file.")
]


@app.command("list")
def list_(json: AsJson = False) -> None:
    """List the built-in profiles with their weights."""
    if json:
        for profile in BUILT_IN.values():
            print_json(as_values(profile))
        return
    table = Table(show_edge=False)
    table.add_column("profile", style="bold")
    table.add_column("score")
    for profile in BUILT_IN.values():
        table.add_row(
            profile.name, " + ".join(f"{weight:g} {signal.name}" for signal, weight in profile)
        )
    console.print(table)


@app.command()
def show(
    profile: NameOrFile,
    function: Annotated[
        bool, typer.Option("--function", help="The whole function for psql.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Print a profile as readable SQL."""
    found = named_or_loaded(profile)
    if json:
        print_json(as_values(found))
    else:
        print(recall_function(found) if function else readable(found))  # noqa: T201


@app.command()
def install(
    file: NameOrFile, database_url: DatabaseUrl = None, schema: Schema = DEFAULT_SCHEMA
) -> None:
    """Install a profile of your own as the function recall_<name>, for psql.

    Installing it again replaces it. The names of the built-in profiles are taken.
    """
    profile = named_or_loaded(file)
    if profile.name in BUILT_IN:
        raise InvalidProfile(
            f"{profile.name} is a built-in profile, which a migration installs; "
            "give yours another name"
        )
    name = function_name(profile)
    with opened(database_url, schema) as engine, translated(), own_connection(engine) as own:
        # The weights are arguments: another set of signals is another function to PostgreSQL.
        signatures = own.scalars(
            text(
                "SELECT p.oid::regprocedure::text FROM pg_proc p "
                "WHERE p.pronamespace = to_regnamespace(quote_ident(:schema)) "
                "AND p.proname = :name"
            ),
            {"schema": schema, "name": name},
        ).all()
        own.execute(
            text(
                "SELECT set_config('search_path', quote_ident(:schema) || ', ' "
                "|| quote_ident(n.nspname), true) FROM pg_extension e "
                "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
            ),
            {"schema": schema},
        )
        for signature in signatures:
            own.exec_driver_sql(f"DROP FUNCTION {signature}")
        own.exec_driver_sql(recall_function(profile).replace("%", "%%"))
        own.commit()
    console.print(f"installed {schema}.{name}", markup=False, highlight=False)


def named_or_loaded(profile: str) -> Profile:
    """The profile of a file if the name ends like one, else the built-in one."""
    if Path(profile).suffix.lower() in (".toml", ".json"):
        return profiles.load(profile)
    return profiles.named(profile)
