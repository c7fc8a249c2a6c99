"""pgrecall config"""

from __future__ import annotations

from pgrecall.cli.app import App
from pgrecall.cli.configuration import VARIABLES, current, user_file
from pgrecall.cli.output import Output, table
from pgrecall.core.display import Verbatim
from pgrecall.core.resources import sql_folder
from pgrecall.migrate.connecting import shown_url
from pgrecall.schema import DEFAULT_SCHEMA

app = App()

DEFAULTS = {
    "database_url": "the embedded database",
    "schema": DEFAULT_SCHEMA,
    "embedder": "pgrecall:LocalEmbedder",
    "rerank": "none",
    "profile": "the database's default",
    "timezone": "UTC",
}


@app.function("pgrecall config", "pgrecall config --json")
def config() -> Output:
    """Show each setting and where it comes from.

    An option precedes its environment variable, which precedes your file.
    """
    rows = {name: (DEFAULTS.get(name), "default") for name in VARIABLES} | current()
    url, source = rows["database_url"]
    if source != "default":
        rows["database_url"] = shown_url(str(url)), source
    shown = [(name, value or "–", source) for name, (value, source) in rows.items()]
    return Output(
        [{"setting": name, "value": value, "source": one} for name, (value, one) in rows.items()],
        table("setting", "value", "comes from", rows=shown),
        f"Your file: {user_file()}",
        Verbatim(f"Scripts for psql: {sql_folder() / 'adhoc'}\n"),
    )
