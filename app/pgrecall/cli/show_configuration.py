"""pgrecall config"""

from __future__ import annotations

from collections.abc import Iterator

from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES, current, user_file
from pgrecall.cli.output import Output, Verbatim, table
from pgrecall.core.resources import sql_folder
from pgrecall.migrate.connecting import shown_url
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import DEFAULT

app = App(panel="Administer")

DEFAULTS = {
    "database_url": "the embedded database",
    "schema": DEFAULT_SCHEMA,
    "embedder": "pgrecall:LocalEmbedder",
    "profile": DEFAULT.name,
}


@app.declare("pgrecall config", name="config")
def show() -> Output:
    """Show the settings that options need not repeat, and where each comes from.

    An option precedes an environment variable, which precedes pgrecall.toml or [tool.pgrecall] of
    pyproject.toml in the working folder or the nearest one above, which precedes your own file.
    """
    records = [*_settings()]
    rows = [[value or "–" for value in record.values()] for record in records]
    own = f"Your file for all folders: {user_file()}"
    scripts = Verbatim(f"Scripts for psql: {sql_folder() / 'adhoc'}\n")
    return Output(records, table("setting", "value", "comes from", rows=rows), own, scripts)


def _settings() -> Iterator[dict[str, str | None]]:
    found = current()
    for name in VARIABLES:
        value, source = found.get(name, (DEFAULTS.get(name), "default"))
        if name == "database_url" and name in found:
            value = shown_url(str(value))
        yield {"setting": name, "value": value, "source": source}
