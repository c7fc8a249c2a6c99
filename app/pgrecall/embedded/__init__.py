"""An embedded PostgreSQL server with pgvector, for first use and for tests."""

from pgrecall.embedded.keeping import ServerStatus, start, status, stop
from pgrecall.embedded.postgres import POSTGRES_VERSION, binaries
from pgrecall.embedded.sharing import Database, database

__all__ = [
    "POSTGRES_VERSION",
    "Database",
    "ServerStatus",
    "binaries",
    "database",
    "start",
    "status",
    "stop",
]
