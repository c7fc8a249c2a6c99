"""Keep one active memory of each text and owner: archive copies, then a unique index.

The index is built concurrently, so this is a revision of its own. What stays active is the copy
that is recalled now, of several the one created first; each other one is archived and leaves an
event that names it and its counters to the one that stays. A copy written while this runs makes the build fail: run it again.

Revision: 0005, after 0004, 2026-11-21
"""

from alembic import op

from pgrecall.migrate.operations import (
    create_index_concurrently,
    drop_index_concurrently,
    settings,
)

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

OWNERS = {"agent_memories": "agent_id", "team_memories": "team_id"}

ARCHIVE_COPIES = """
WITH ranked AS (
    SELECT m.{owner} AS owner_id, m.id,
           first_value(m.id) OVER copies AS kept, row_number() OVER copies AS number
      FROM "{schema}".{table} m
     WHERE m.status = 'active'
    WINDOW copies AS (PARTITION BY m.{owner}, m.content_hash
                      ORDER BY "{schema}".is_valid(m.valid_from, m.valid_until, m.invalidated_at,
                                                   m.expires_at, now()) DESC,
                               m.created_at NULLS LAST, m.id)
), counted AS (
    INSERT INTO "{schema}".memory_usage AS u (agent_id, memory_id, retrieval_count,
           success_count, failure_count, feedback_up, feedback_down, last_accessed_at)
    SELECT r.owner_id, r.kept, sum(c.retrieval_count), sum(c.success_count), sum(c.failure_count),
           sum(c.feedback_up), sum(c.feedback_down), max(c.last_accessed_at)
      FROM ranked r
      JOIN "{schema}".memory_usage c ON c.agent_id = r.owner_id AND c.memory_id = r.id
     WHERE r.number > 1
     GROUP BY r.owner_id, r.kept
        ON CONFLICT (agent_id, memory_id) DO UPDATE SET
           retrieval_count = u.retrieval_count + excluded.retrieval_count,
           success_count = u.success_count + excluded.success_count,
           failure_count = u.failure_count + excluded.failure_count,
           feedback_up = u.feedback_up + excluded.feedback_up,
           feedback_down = u.feedback_down + excluded.feedback_down,
           last_accessed_at = greatest(u.last_accessed_at, excluded.last_accessed_at)
), archived AS (
    UPDATE "{schema}".{table} m SET status = 'archived', updated_at = now()
      FROM ranked r
     WHERE r.number > 1 AND m.{owner} = r.owner_id AND m.id = r.id
 RETURNING r.owner_id, r.id, r.kept
)
INSERT INTO "{schema}".memory_events
       (agent_id, memory_id, id, event_type, reason, actor, old_values, new_values)
SELECT owner_id, id, "{schema}".event_id(), 'archived', 'exact duplicate of ' || kept,
       'migration 0005', '{{"status": "active"}}'::jsonb, '{{"status": "archived"}}'::jsonb
  FROM archived
"""


def upgrade() -> None:
    for table, owner in OWNERS.items():
        op.execute(ARCHIVE_COPIES.format(schema=settings().schema, table=table, owner=owner))
        create_index_concurrently(
            f"ix_{table}_{owner}_content_hash",
            table,
            [owner, "content_hash"],
            unique=True,
            postgresql_where="status = 'active'",
        )


def downgrade() -> None:
    for table, owner in OWNERS.items():
        drop_index_concurrently(f"ix_{table}_{owner}_content_hash", table)
