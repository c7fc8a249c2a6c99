"""Install the built-in profiles as functions, and the view of signals, for psql.

Revision: 0003, after 0002, 2026-11-21
"""

from alembic import op

from pgrecall.migrate.operations import install, settings

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

PROFILES = ("five_factor", "last_access", "half_life", "trust", "tiered")


def upgrade() -> None:
    for profile in PROFILES:
        install(f"profiles/{profile}.sql")
    install("views/memory_signals.sql")


def downgrade() -> None:
    op.execute(f'DROP VIEW "{settings().schema}".memory_signals')
    for profile in PROFILES:
        op.execute(f'DROP FUNCTION "{settings().schema}".recall_{profile}')
