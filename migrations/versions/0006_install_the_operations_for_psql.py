"""Install what a DBA runs as functions and one procedure; the profiles' functions take labels.

Revision: 0006, after 0005, 2026-11-21
"""

from alembic import op

from pgrecall.migrate.operations import (
    install,
    search_temporary_tables_last,
    settings,
)

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

FUNCTIONS = (
    "record_outcome",
    "adjust_trust",
    "record_feedback",
    "invalidate_memories",
    "revive_memories",
    "history",
    "clear_memories",
    "owners_of_memories",
    "count_garbage",
    "collect_garbage_batch",
    "archive_excess_batch",
    "sweep_orphans_batch",
)
PROFILES = ("five_factor", "last_access", "half_life", "trust", "tiered")


def upgrade() -> None:
    search_temporary_tables_last()
    for function in FUNCTIONS:
        install(f"operations/{function}.sql")
    install("operations/collect_garbage.sql")
    for profile in PROFILES:
        op.execute(f'DROP FUNCTION "{settings().schema}".recall_{profile}')
        install(f"profiles/0006/{profile}.sql")


def downgrade() -> None:
    schema = settings().schema
    for profile in PROFILES:
        op.execute(f'DROP FUNCTION "{schema}".recall_{profile}')
        install(f"profiles/{profile}.sql")
    op.execute(f'DROP PROCEDURE "{schema}".collect_garbage')
    for function in reversed(FUNCTIONS):
        op.execute(f'DROP FUNCTION "{schema}".{function}')
