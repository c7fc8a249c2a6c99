"""pgrecall config, config trust, config distrust"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pgrecall.cli import consent
from pgrecall.cli.app import App, Group
from pgrecall.cli.configuration import (
    PERSONAL,
    VARIABLES,
    File,
    Setting,
    current,
    file_at,
    project_file,
    settings,
    undecided,
    user_file,
)
from pgrecall.cli.output import Output, table
from pgrecall.cli.parsers import argument
from pgrecall.core.display import Verbatim
from pgrecall.core.resources import sql_folder
from pgrecall.errors import InputError
from pgrecall.migrate.connecting import shown_url
from pgrecall.schema import DEFAULT_SCHEMA


class _Config(Group):
    """The group `config`, which shows the settings where no command is named."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        shows = not args or (args[0].startswith("-") and args[0] != "--help")
        return super().parse_args(context, ["show", *args] if shows else args)


app = App(
    name="config",
    cls=_Config,
    help="Show the settings that options need not repeat, and say which files may name code.",
)

DEFAULTS = {
    "database_url": "the embedded database",
    "schema": DEFAULT_SCHEMA,
    "embedder": "pgrecall:LocalEmbedder",
    "rerank": "none",
    "profile": "that of the database",
    "timezone": "UTC",
}
OfProject = Annotated[
    Path | None,
    argument("The file. Default: the nearest one, in or above the working folder."),
]


@app.function("pgrecall config show", "pgrecall config show --json")
def show() -> Output:
    """Show each setting and where it comes from.

    An option precedes an environment variable, which precedes pgrecall.toml or the table
    tool.pgrecall of pyproject.toml in the working folder or the nearest one above, which precedes
    your own file. Database, embedder and reranker of a project's file need your consent.
    """
    configured = settings()
    values = current()
    records = [*_settings(values, configured.withheld)]
    rows = [[record[name] or "–" for name in ("setting", "value", "source")] for record in records]
    parts: list[Any] = [table("setting", "value", "comes from", rows=rows)]
    parts += [f"Not used: {record['withheld']}" for record in records if record["withheld"]]
    own = f"Your file for all folders: {user_file()}"
    scripts = Verbatim(f"Scripts for psql: {sql_folder() / 'adhoc'}\n")
    question = undecided(configured, PERSONAL)
    return Output(records, *parts, own, scripts, notes=[question] if question else ())


@app.function("pgrecall config trust", "pgrecall config trust ../pyproject.toml")
def trust(file: OfProject = None) -> Output:
    """Let a project's file name the database, and embedder and reranker, which are code.

    Look at it first. Your consent is for these values: if one of them changes, it ends.
    """
    return _decide(_of_project(file), True)


@app.function("pgrecall config distrust")
def distrust(file: OfProject = None) -> Output:
    """Withdraw or refuse consent: commands go on without the database and the code it names."""
    return _decide(_of_project(file), False)


def _of_project(path: Path | None) -> File:
    # By the folder's real path, as the working folder is known to programs.
    file = project_file() if path is None else file_at(path.parent.resolve() / path.name)
    if file is None:
        where = "in or above the working folder" if path is None else f"in {path}"
        raise InputError(f"there are no settings {where}")
    return file


def _decide(file: File, allowed: bool) -> Output:
    sensitive = file.sensitive()
    if not sensitive:
        raise InputError(f"{file.path} names no database, embedder or reranker: nothing to decide")
    consent.store_answer(file.path, sensitive, allowed)
    values = {name: _shown(name, value) for name, value in sensitive.items()}
    lines = [f"{name} {'is' if allowed else 'is not'} used: {one}" for name, one in values.items()]
    return Output([{"file": str(file.path), "allowed": allowed, **values}], *lines)


def _settings(
    used: Mapping[str, tuple[str, str]], withheld: Mapping[str, Setting]
) -> Iterator[dict[str, str | None]]:
    for name in VARIABLES:
        value, source = used.get(name, (DEFAULTS.get(name), "default"))
        unused = withheld.get(name)
        yield {
            "setting": name,
            "value": _shown(name, value) if name in used else value,
            "source": source,
            "withheld": f"{name} {_shown(name, unused.value)} of {unused.file}" if unused else None,
        }


def _shown(name: str, value: str | None) -> str:
    return shown_url(str(value)) if name == "database_url" else str(value)
