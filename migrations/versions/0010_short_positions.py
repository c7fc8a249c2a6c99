"""Give positions the coordinates of embeddings on principal axes: rank indexes are built anew.

Revision: 0010, 2026-11-26

Positions of before are dropped. Until maintenance builds the indexes again, searches are exact.
"""

from alembic import op

from pgrecall.migrate.operations import extension, settings

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

SIGNAL_AXES = 26
YEARS = "latest BETWEEN '0001-01-02 00:00:00+00' AND '9999-12-30 00:00:00+00'"
COMMENTS = {
    "rank_indexes.candidates_alone": "The number of candidates where one signal has most of the "
    "weight.",
    "rank_indexes.latest": "The latest created_at of its memories.",
    "rank_indexes.kept": "How much of embeddings the axes described at its build, 0 to 1.",
    "rank_indexes.kept_since": "The same of memories that were placed in it since.",
    "rank_indexes.axes": "The directions of embeddings whose coordinates positions have; none: they "
    "have whole embeddings.",
    "rank_positions.position": "Its coordinates in the rank space; as many in all of a partition.",
}
# On Citus, nodes have parents of their own, which the next build creates anew.
DROP_POSITIONS = """
    DO $$
    DECLARE
        positions regclass;
    BEGIN
        UPDATE rank_indexes SET space = 0;
        FOR positions IN SELECT inhrelid FROM pg_inherits
                          WHERE inhparent = 'rank_positions'::regclass LOOP
            EXECUTE format('DROP TABLE %s', positions);
        END LOOP;
        IF to_regproc('run_command_on_workers') IS NOT NULL THEN
            PERFORM run_command_on_workers(
                format('DROP TABLE IF EXISTS %I.rank_positions', current_schema()));
        END IF;
    END $$
"""


def upgrade() -> None:
    op.execute(DROP_POSITIONS)
    op.execute("DROP INDEX ix_rank_positions_position")  # each partition has its own
    op.execute(f"ALTER TABLE rank_positions ALTER position TYPE {extension()}.halfvec")
    op.execute(
        "ALTER TABLE rank_indexes ADD candidates_alone integer NOT NULL DEFAULT 400, "
        f"ADD latest timestamptz CONSTRAINT ck_rank_indexes_latest CHECK ({YEARS}), "
        "ADD kept double precision, ADD kept_since double precision, "
        f"ADD axes {extension()}.halfvec[]"
    )
    for name, comment in COMMENTS.items():
        op.execute(f"COMMENT ON COLUMN {name} IS '{comment}'")


def downgrade() -> None:
    op.execute(
        "ALTER TABLE rank_indexes DROP candidates_alone, DROP latest, DROP kept, DROP kept_since, "
        "DROP axes"
    )
    op.execute("COMMENT ON COLUMN rank_positions.position IS 'Its coordinates in the rank space.'")
    op.execute(DROP_POSITIONS)
    length = settings().dimensions + SIGNAL_AXES
    op.execute(f"ALTER TABLE rank_positions ALTER position TYPE {extension()}.halfvec({length})")
    op.execute(
        "CREATE INDEX ix_rank_positions_position ON rank_positions USING hnsw "
        f"(position {extension()}.halfvec_ip_ops) WITH (m = 24, ef_construction = 256)"
    )
