"""pgrecall profiles list|show|install"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from sqlalchemy import text

from pgrecall.cli.app import App
from pgrecall.cli.database import AsJson, DatabaseUrl, Schema, opened
from pgrecall.cli.output import console, print_json
from pgrecall.core.quoting import listed, shortened
from pgrecall.errors import UnknownName
from pgrecall.execution.translation import translated
from pgrecall.migrate.connecting import own_connection
from pgrecall.migrate.installing import install_profile
from pgrecall.migrate.score_function import readable, score_functions
from pgrecall.migrate.settings import Settings
from pgrecall.migrate.state import pin_search_path
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.profiles import BUILT_IN

app = App(help="Built-in profiles and your own.", no_args_is_help=True)

NameOrFile = Annotated[
    str, typer.Argument(help="A built-in profile's name, or a .toml or .json file.")
]


Installed = Annotated[
    bool, typer.Option("--installed", help="What is installed in the database, yours included.")
]


@app.command("list")
def list_(
    installed: Installed = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """List the built-in profiles with their weights, or those installed in the database."""
    table = Table(show_edge=False)
    table.add_column("profile", style="bold")
    table.add_column("score")
    if installed:
        for name, comment, _ in _installed(database_url, schema):
            if json:
                print_json({"name": name, "comment": comment})
            table.add_row(name, comment)
    else:
        for profile in BUILT_IN.values():
            if json:
                print_json(as_values(profile))
            score = " + ".join(f"{weight:g} {signal.name}" for signal, weight in profile)
            table.add_row(profile.name, score)
    if not json:
        console.print(table)


@app.command()
def show(
    profile: NameOrFile,
    function: Annotated[
        bool, typer.Option("--function", help="The functions that recall calls.")
    ] = False,
    installed: Installed = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Print a profile as readable SQL, or the function as it is installed in the database."""
    if installed:
        definitions = {name: text for name, _, text in _installed(database_url, schema)}
        if profile not in definitions:
            raise UnknownName(
                f"no profile {shortened(profile)} is installed; there are {listed(definitions)}"
            )
        print(definitions[profile])  # noqa: T201
        return
    found = named_or_loaded(profile)
    if json:
        print_json(as_values(found))
    else:
        print(score_functions(found) if function else readable(found))  # noqa: T201


@app.command()
def install(
    file: NameOrFile, database_url: DatabaseUrl = None, schema: Schema = DEFAULT_SCHEMA
) -> None:
    """Install a profile of your own, so that recall takes its name in psql.

    Installing it again replaces it. The names of the built-in profiles are taken.
    """
    profile = named_or_loaded(file)
    with opened(database_url, schema) as engine, translated(), own_connection(engine) as own:
        pin_search_path(own)
        extension_schema = own.scalar(
            text(
                "SELECT n.nspname, set_config('search_path', quote_ident(:schema) || ', pg_temp', "
                "true) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
                "WHERE e.extname = 'vector'"
            ),
            {"schema": schema},
        )
        install_profile(own, Settings(schema, extension_schema=str(extension_schema)), profile)
        own.commit()
    console.print(f"installed {schema}.score_{profile.name}", markup=False, highlight=False)


def _installed(database_url: str | None, schema: str) -> list[tuple[str, str, str]]:
    """Name, comment and definition of every profile's score function in the schema."""
    with opened(database_url, schema) as engine, translated(), engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT substr(p.proname, 7), coalesce(obj_description(p.oid, 'pg_proc'), ''), "
                "pg_get_functiondef(p.oid) FROM pg_proc p "
                "JOIN pg_namespace n ON n.oid = p.pronamespace "
                "WHERE n.nspname = :schema AND starts_with(p.proname, 'score_') ORDER BY 1"
            ),
            {"schema": schema},
        ).all()
    return [(name, comment, definition) for name, comment, definition in rows]


def named_or_loaded(profile: str) -> Profile:
    """The profile of a file if the name ends like one, else the built-in one."""
    if Path(profile).suffix.lower() in (".toml", ".json"):
        return profiles.load(profile)
    return profiles.named(profile)
