"""Compare what a walk meets with landmarks, and walk further where it missed a group of memories.

Revision: 0018, after 0017, 2026-11-22

Rank indexes built before do not know how like a question memories usually are, and are searched as
they were until they are built anew. Those built since count on landmarks, so build them anew after
going below this revision.
"""

import sqlalchemy as sa
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

NEW = ("meaning", "nearest_landmark", "has_missed", "near_positions")
BEFORE = {
    "calibrated_candidates": "rank_index/0015",
    "worded_candidates": "words/0017",
    "rank_candidates": "rank_index/0014",
}


def upgrade() -> None:
    op.add_column(
        "rank_indexes",
        sa.Column(
            "likeness",
            sa.Double(),
            comment="How similar to a query, by cosine, the likest that a walk meets usually is.",
        ),
        schema=settings().schema,
    )
    search_temporary_tables_last()
    load_pgvector()
    for name in NEW:
        install(f"rank_index/0018/{name}.sql")
    _drop("calibrated_candidates", "worded_candidates")  # with other parameters
    for name, folder in BEFORE.items():
        install(f"{folder.partition('/')[0]}/0018/{name}.sql")


def downgrade() -> None:
    search_temporary_tables_last()
    load_pgvector()
    _drop(*BEFORE)
    for name, folder in BEFORE.items():
        install(f"{folder}/{name}.sql")
    _drop(*reversed(NEW))
    op.drop_column("rank_indexes", "likeness", schema=settings().schema)


def _drop(*functions: str) -> None:
    for name in functions:
        op.execute(f'DROP FUNCTION "{settings().schema}".{name}')
