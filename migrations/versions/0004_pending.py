"""Let a memory wait for approval: the status pending.

Revision: 0004, 2026-11-23
"""

from alembic import op

from pgrecall.migrate.operations import settings

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLE = "agent_memories"
CHECK = f"ck_{TABLE}_status"
OTHERS = "consolidated, completed or archived."


def upgrade() -> None:
    allow("active", "pending", "consolidated", "completed", "archived")
    describe(f"active, pending, {OTHERS}", "Governance asks for approval: it begins as pending.")


def downgrade() -> None:
    op.execute(f"UPDATE {TABLE} SET status = 'archived' WHERE status = 'pending'")  # noqa: S608
    allow("active", "consolidated", "completed", "archived")
    describe(f"active, {OTHERS}", "Governance asks for approval.")


def allow(*statuses: str) -> None:
    """Replaces the check of the status. Rows are checked without blocking anyone, while the check
    that was there still holds. An interrupted run can be repeated."""
    table = f'"{settings().schema}".{TABLE}'
    new = f"{CHECK}_new"
    values = ", ".join(f"'{status}'" for status in statuses)
    op.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {new}")
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {new} CHECK (status IN ({values})) NOT VALID")
    with op.get_context().autocommit_block():
        op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {new}")
    op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {CHECK}")
    op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {new} TO {CHECK}")


def describe(status: str, requires_approval: str) -> None:
    for name, comment in (("status", status), ("requires_approval", requires_approval)):
        op.execute(f"COMMENT ON COLUMN {TABLE}.{name} IS '{comment}'")
