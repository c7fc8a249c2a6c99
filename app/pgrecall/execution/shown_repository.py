"""The `repr` of a repository, which asks no database."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from pgrecall.core.display import line
from pgrecall.core.embedders import model_name


def shown(repository: Any) -> str:
    """The database without its password, the schema and the embedder."""
    tables, embedder = repository._tables, repository._tools.embedder
    of_teams = ", of teams" if tables.prefix else ""
    written = "None"
    if embedder is not None:
        written = f"{type(embedder).__name__}({model_name(embedder) or ''!r})"
    return (
        f"{type(repository).__name__}({_database(repository._bind)!r}, schema={tables.schema!r}, "
        f"embedder={line(written)}{of_teams})"
    )


def _database(bind: Any) -> str:
    """user@host:port/database, as far as it is known. No other part of a URL is shown, since any
    may hold a secret."""
    try:
        url = (bind.get_bind() if hasattr(bind, "get_bind") else bind).engine.url
    except (AttributeError, SQLAlchemyError):  # a session without an engine
        return "?"
    hosts = url.host or url.query.get("host") or ""
    host = hosts if isinstance(hosts, str) else ",".join(hosts)
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return line(f"{user}{host}{port}/{url.database or ''}")
