"""Creates and upgrades the schema with Alembic.

from pgrecall import migrate
migrate.upgrade("postgresql://…", dimensions=384)
"""

from pgrecall.migrate.access import LEVELS, grant, revoke
from pgrecall.migrate.commands import downgrade, embedding_index, sql, upgrade
from pgrecall.migrate.environment import include_name
from pgrecall.migrate.language import change_language
from pgrecall.migrate.settings import DEFAULT_DIMENSIONS, DEFAULT_EXTENSION_SCHEMA, DEFAULT_LANGUAGE
from pgrecall.migrate.state import Status, status

__all__ = [
    "DEFAULT_DIMENSIONS",
    "DEFAULT_EXTENSION_SCHEMA",
    "DEFAULT_LANGUAGE",
    "LEVELS",
    "Status",
    "change_language",
    "downgrade",
    "embedding_index",
    "grant",
    "include_name",
    "revoke",
    "sql",
    "status",
    "upgrade",
]
