"""Let rank indexes note how many candidates each built-in profile needs.

Revision: 0012, 2026-11-27

Indexes built before have one number for all profiles; searches use it.
"""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

COMMENTS = {
    "candidates": "Candidates that a search by another profile takes from it at first: the most "
    "that a built-in profile needs.",
    "candidates_by_profile": "The number of candidates for each built-in profile that its build "
    "measured.",
}


def upgrade() -> None:
    op.execute(
        "ALTER TABLE rank_indexes ADD candidates_by_profile jsonb NOT NULL DEFAULT '{}'::jsonb"
    )
    for name, comment in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN rank_indexes.{name} IS '{comment}'")


def downgrade() -> None:
    op.execute("ALTER TABLE rank_indexes DROP candidates_by_profile")
    op.execute(
        "COMMENT ON COLUMN rank_indexes.candidates IS 'Candidates that a search takes from it at "
        "first, measured by its build.'"
    )
