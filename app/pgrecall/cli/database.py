"""The database that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sqlalchemy import Engine, QueuePool

from pgrecall import embedded
from pgrecall.cli.configuration import VARIABLES
from pgrecall.cli.output import warnings
from pgrecall.cli.parsers import option
from pgrecall.core.embedders import Embedder
from pgrecall.core.resources import PACKAGE, migrations_folder, sql_folder, state_of
from pgrecall.execution import MemoryRepository
from pgrecall.migrate.connecting import engine_of

DatabaseUrl = Annotated[
    str | None,
    option(
        "postgresql://user:password@host/name. Default: an embedded database.",
        envvar=VARIABLES["database_url"],
        metavar="URL",
        show_default=False,
        rich_help_panel="Common",
    ),
]
Schema = Annotated[
    str,
    option("Schema with pgrecall's tables.", envvar=VARIABLES["schema"], rich_help_panel="Common"),
]
OfTeam = Annotated[bool, option("--agent names a team.", "--of-team", rich_help_panel="Common")]
Agent = Annotated[
    str, option("Agent that the memories belong to.", "--agent", "-a", envvar=VARIABLES["agent"])
]
AnyAgent = Annotated[
    str | None, option("Only this agent. Default: all.", "--agent", "-a", show_default=False)
]


@dataclass(frozen=True)
class Database:
    """The database of a command, and the schema in it; without a URL, the embedded one."""

    url_option: str | None
    schema: str
    embedder: Embedder | None = None

    @contextmanager
    def url(self) -> Iterator[str]:
        """Its URL. The embedded database runs meanwhile."""
        if self.url_option:
            yield self.url_option
            return
        folder = data_folder()
        if not folder.exists():
            warnings.print(
                f"[dim]Making an embedded PostgreSQL in {folder}, since neither --database-url "
                "nor PGRECALL_DATABASE_URL is set.[/]",
                soft_wrap=True,
                highlight=False,
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        with embedded.database(folder) as url:
            yield url

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """An engine; the embedded database is migrated first."""
        with self.url() as url:
            if not self.url_option:
                self._migrate(url)
            engine = engine_of(url, poolclass=QueuePool)
            try:
                yield engine
            finally:
                engine.dispose()

    @contextmanager
    def repository(self, of_team: bool = False) -> Iterator[MemoryRepository]:
        """A repository."""
        with self.engine() as engine:
            repo = MemoryRepository(engine, schema=self.schema, embedder=self.embedder)
            yield repo.teams if of_team else repo

    def _migrate(self, url: str) -> None:
        """Migrates the embedded database, unless this code has done so: to find out what differs
        takes two seconds."""
        note = data_folder() / f"pgrecall_{self.schema}_migrated_by"
        code = state_of(PACKAGE, sql_folder(), migrations_folder())
        if note.is_file() and note.read_text(encoding="utf-8") == code:
            return
        from pgrecall import migrate

        migrate.upgrade(url, schema=self.schema)
        note.write_text(code, encoding="utf-8")


def data_folder() -> Path:
    """The folder of the embedded database."""
    import platformdirs

    return Path(platformdirs.user_data_path("pgrecall")) / f"postgres-{embedded.POSTGRES_VERSION}"
