"""Databases of one server, each with its memories and their rank indexes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import psycopg
from psycopg import sql
from rich.progress import Progress
from sqlalchemy import URL, create_engine

from benchmarks.data import Row
from benchmarks.loading import load_rows
from benchmarks.progress import index_builds, tracked
from pgrecall import MemoryRepository, migrate
from pgrecall.migrate.connecting import database_url
from pgrecall.rank_index.index import RankIndex


class Source(Protocol):
    """Where memories come from; two that are equal share a database."""

    @property
    def name(self) -> str: ...
    @property
    def total(self) -> int: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def embedding_type(self) -> str: ...
    @property
    def indexed(self) -> tuple[str, ...]: ...
    def __iter__(self) -> Iterator[Row]: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class Built:
    """A rank index, and of which memories."""

    data: str
    index: RankIndex

    def record(self) -> dict[str, Any]:
        """What it is of and how long it took, as plain JSON values."""
        what = ("agent_id", "memories", "m", "ef_construction", "candidates")
        return {
            "data": self.data,
            **{name: getattr(self.index, name) for name in what},
            "seconds": round(self.index.seconds, 2),
        }


@dataclass(frozen=True)
class Loaded:
    """A database that is ready to be asked."""

    source: Source
    url: str

    @property
    def engine_url(self) -> URL:
        return database_url(self.url)


class Databases:
    """Made when they are first asked for, kept as long as they are needed."""

    def __init__(self, url: str) -> None:
        self.built: list[Built] = []
        """All rank indexes so far."""
        self._url = url
        self._loaded: dict[Source, Loaded] = {}
        self._made = 0

    def prepared(self, source: Source, progress: Progress) -> Loaded:
        if source not in self._loaded:
            url = self._created()
            rows = tracked(progress, source, source.total, f"loading {source.name}")
            load_rows(url, rows, dimensions=source.dimensions, embedding_type=source.embedding_type)
            with index_builds(url, progress, "building the HNSW index"):
                migrate.upgrade(url, embedding_index=True)  # for the peers
            self._loaded[source] = Loaded(source, url)
            for agent in source.indexed:
                self.build(self._loaded[source], agent, progress)
        return self._loaded[source]

    def build(
        self, loaded: Loaded, owner_id: str, progress: Progress, *, of_team: bool = False
    ) -> None:
        """Builds the rank index of an agent or a team."""
        engine = create_engine(loaded.engine_url)
        repo = MemoryRepository(engine)
        try:
            with index_builds(loaded.url, progress, f"building the rank index of {owner_id}"):
                built = (repo.teams if of_team else repo).rank_indexes.build(
                    agent_id=owner_id, at_least=1
                )
        finally:
            engine.dispose()
        self.built += [Built(loaded.source.name, index) for index in built]

    def copy(self, loaded: Loaded) -> Loaded:
        """A database with the same memories and the same index."""
        return Loaded(loaded.source, self._created(database_url(loaded.url).database))

    def keep_only(self, sources: Collection[Source]) -> None:
        """Drops the databases of all others."""
        for source in [source for source in self._loaded if source not in sources]:
            name = database_url(self._loaded.pop(source).url).database
            assert name is not None
            self._execute(sql.SQL("DROP DATABASE {} (FORCE)").format(sql.Identifier(name)))

    def version(self) -> str:
        """Of the server and of pgvector."""
        with psycopg.connect(self._url) as connection:
            [(found,)] = connection.execute(
                "SELECT format('PostgreSQL %s, pgvector %s', current_setting('server_version'),"
                " (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'))"
            ).fetchall()
            return str(found)

    def _created(self, template: str | None = None) -> str:
        self._made += 1
        name = f"memories_{self._made}"
        self._execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template or "template1")
            )
        )
        url = database_url(self._url).set(drivername="postgresql", database=name)
        return url.render_as_string(hide_password=False)

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(statement)
