"""Alembic's environment of the application's own tables."""

import os

from alembic import context
from sqlalchemy import NullPool, create_engine

from assistant.database import Base
from pgrecall import migrate

url = context.config.attributes.get("url") or os.environ["DATABASE_URL"]
with create_engine(url, poolclass=NullPool).connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        include_schemas=True,
        include_name=migrate.include_name,  # pgrecall's tables are none of ours
    )
    with context.begin_transaction():
        context.run_migrations()
