"""Which database a command works on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import platformdirs
import typer
from sqlalchemy import Engine

from pgrecall import embedded, migrate
from pgrecall.cli.output import complaints
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.tokens import estimated_tokens, tiktoken_counter
from pgrecall.execution import MemoryRepository
from pgrecall.migrate.connecting import engine_of
from pgrecall.schema import DEFAULT_SCHEMA

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        envvar="PGRECALL_DATABASE_URL",
        help="postgresql://user:password@host/name; without it, an embedded database.",
        show_default=False,
    ),
]
Schema = Annotated[str, typer.Option(help="Schema that holds the tables.")]
Agent = Annotated[str, typer.Option("--agent", "-a", help="Whose memories.")]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        "-a",
        help="Whose memories; may be given repeatedly. With several, each query names its own.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line, for machines.")]


@contextmanager
def opened(url: str | None, schema: str = DEFAULT_SCHEMA) -> Iterator[Engine]:
    """An engine on the user's database, or on the embedded one, which is kept migrated."""
    with located(url) as (found, is_embedded):
        if is_embedded:
            migrate.upgrade(found, schema=schema)
        engine = engine_of(found)
        try:
            yield engine
        finally:
            engine.dispose()


@contextmanager
def repository(url: str | None, schema: str) -> Iterator[MemoryRepository]:
    """A repository that takes text, embedded locally; its tokens are counted by tiktoken where
    PGRECALL_TIKTOKEN names an encoding."""
    encoding = os.environ.get("PGRECALL_TIKTOKEN")
    counter = tiktoken_counter(encoding) if encoding else estimated_tokens
    with opened(url, schema) as engine:
        yield MemoryRepository(
            engine, schema=schema, embedder=LocalEmbedder(), token_counter=counter
        )


@contextmanager
def located(url: str | None) -> Iterator[tuple[str, bool]]:
    """The database's URL, and whether it is the embedded one."""
    if url:
        yield url, False
        return
    folder = data_folder()
    complaints.print(
        f"[dim]no --database-url or PGRECALL_DATABASE_URL: using the embedded PostgreSQL in "
        f"{folder}[/]",
        soft_wrap=True,
        highlight=False,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with embedded.database(folder) as found:
        yield found, True


def data_folder() -> Path:
    """Where the embedded database lives."""
    return Path(platformdirs.user_data_path("pgrecall")) / f"postgres-{embedded.POSTGRES_VERSION}"
