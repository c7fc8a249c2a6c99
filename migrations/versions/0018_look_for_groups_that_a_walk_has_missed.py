"""Look at landmarks too, and walk further where one shows that a group of memories was missed.

Revision: 0018, after 0017, 2026-11-22

Rank indexes built before have no landmarks, and are searched as they were until they are built
anew.
"""

from alembic import op

from pgrecall.migrate.operations import (
    install,
    load_pgvector,
    search_temporary_tables_last,
    settings,
)

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BEFORE = {
    "rank_candidates": "rank_index/0014",
    "calibrated_candidates": "rank_index/0015",
    "worded_candidates": "words/0017",
}
NEW = ("near_positions", "landmark")


def upgrade() -> None:
    search_temporary_tables_last()
    load_pgvector()
    for name in reversed(NEW):
        install(f"rank_index/0018/{name}.sql")
    for name, folder in BEFORE.items():
        install(f"{folder.partition('/')[0]}/0018/{name}.sql")


def downgrade() -> None:
    schema = settings().schema
    search_temporary_tables_last()
    load_pgvector()
    for name, folder in BEFORE.items():
        op.execute(f'DROP FUNCTION "{schema}".{name}')
        install(f"{folder}/{name}.sql")
    for name in NEW:
        op.execute(f'DROP FUNCTION "{schema}".{name}')
