"""Alembic's entry; everything is in pgrecall.migrate.environment."""

from alembic import context

from pgrecall.migrate.environment import run

run(context)  # type: ignore[arg-type]  # the module stands in for its EnvironmentContext
