"""Builds and changes the schema, through Alembic.

from pgrecall import migrate
migrate.upgrade("postgresql://…", dimensions=384)
"""

from pgrecall.migrate.commands import downgrade, sql, upgrade
from pgrecall.migrate.settings import DEFAULT_DIMENSIONS
from pgrecall.migrate.status import Status, status

__all__ = ["DEFAULT_DIMENSIONS", "Status", "downgrade", "sql", "status", "upgrade"]
