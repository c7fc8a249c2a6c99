"""pgrecall profiles show, install, default"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.database import Database
from pgrecall.cli.output import Output, table
from pgrecall.cli.parsers import argument, load_profile, option
from pgrecall.core.display import Column, Verbatim
from pgrecall.core.quoting import listed, shortened
from pgrecall.errors import InputError, UnknownName
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate import repeatable
from pgrecall.migrate.connecting import own_connection
from pgrecall.migrate.ranked_function import readable
from pgrecall.migrate.state import pin_transaction
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.profiles import BUILT_IN, DEFAULT

app = App(
    name="profiles",
    help="Show and install profiles, and choose the default one.",
    no_args_is_help=True,
)

NameOrFile = Annotated[
    str | None,
    argument("Name of a built-in profile, or a .toml or .json file. Default: list them."),
]
Installed = Annotated[bool, option("Look in the database, which has your own, too.", "--installed")]


@app.function(
    "pgrecall profiles show",
    "pgrecall profiles show trust",
    "pgrecall profiles show mine --installed",
)
def show(
    database: Database,
    profile: NameOrFile = None,
    installed: Installed = False,
) -> Output:
    """List the profiles with their weights, or show one as readable SQL."""
    known = {**BUILT_IN, **_installed(database)} if installed else BUILT_IN
    if profile is None:
        return _listed(known.values())
    if installed and profile not in known:
        raise UnknownName(
            f"no profile {shortened(profile)} is installed; installed are {listed(known)}"
        )
    shown = known[profile] if installed else load_profile(profile)
    return Output([as_values(shown)], Verbatim(f"{readable(shown)}\n"))


def _listed(profiles: Iterable[Profile]) -> Output:
    rows = [
        (one.name, " + ".join(f"{weight:g} {signal.name}" for signal, weight in one))
        for one in profiles
    ]
    columns = Column("profile", tone="bold"), "score"
    return Output(map(as_values, profiles), table(*columns, rows=rows))


@app.function("pgrecall profiles install mine.toml")
def install(
    database: Database, profile: Annotated[Profile | str, argument("A .toml or .json file.")]
) -> Output:
    """Install a profile of your own, so that recall in psql knows it by name.

    Installing it again replaces it. Your profile needs another name than the built-in ones.
    """
    assert isinstance(profile, Profile)
    with database.engine() as engine, map_errors(), own_connection(engine) as own:
        pin_transaction(own)
        repeatable.install(own, database.schema, profile)
        own.commit()
    return Output([{"profile": profile.name}], f"installed {profile.name}")


@app.function(
    "pgrecall profiles default",
    "pgrecall profiles default trust",
    "pgrecall profiles default --unset",
)
def default(
    database: Database,
    name: Annotated[
        str | None, argument("A built-in profile, or one that is installed. Default: show it.")
    ] = None,
    unset: Annotated[bool, option("Go back to hybrid.", "--unset")] = False,
) -> Output:
    """Choose the profile of each call that names none, in psql and in programs; or show it.

    Only the schema's owner may. psql obeys at once, running programs some seconds later. A profile
    that a call, a repository, PGRECALL_PROFILE or your config.toml names precedes it.
    """
    if unset and name is not None:
        raise InputError("give a profile or --unset, and not both")
    with database.engine() as engine:
        if unset or name is not None:
            migrate.set_default_profile(engine, name, schema=database.schema)
        chosen = migrate.default_profile(engine, schema=database.schema)
    shown = chosen or DEFAULT.name
    return Output([{"profile": shown, "is_set": chosen is not None}], shown)


def _installed(database: Database) -> dict[str, Profile]:
    """The installed profiles by their names."""
    with database.engine() as engine, map_errors(), engine.connect() as connection:
        profiles = repeatable.installed_profiles(connection, database.schema)
    return {profile.name: profile for profile in profiles}
