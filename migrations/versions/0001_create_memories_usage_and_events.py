"""Create the tables of memories, usage and events, and the functions of the signals.

Revision: 0001, 2026-11-21
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from pgrecall.migrate.operations import EmbeddingColumn, install, settings

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

FUNCTIONS = (
    "content_hash",
    "is_valid",
    "similarity",
    "recency_exponential",
    "recency_hyperbolic",
    "recency_linear",
    "frequency",
    "decayed_trust",
    "entity_overlap",
)


def upgrade() -> None:
    schema = settings().schema
    for function in FUNCTIONS:
        install(f"functions/{function}.sql")
    _create_memories(
        "agent_memories",
        "agent_id",
        "Whose memory this is; every statement filters on it.",
        "Memories of agents, one row each; nothing here changes when one is retrieved.",
    )
    _create_memories(
        "team_memories",
        "team_id",
        "The team whose memory this is; every statement filters on it.",
        "Memories shared by teams of agents, of the same shape as agent_memories.",
    )
    op.create_table(
        "memory_usage",
        sa.Column(
            "agent_id",
            sa.Text(),
            nullable=False,
            comment="Whose memory it counts: an agent, or a team.",
        ),
        sa.Column("memory_id", sa.Uuid(), nullable=False, comment="The memory it counts."),
        sa.Column(
            "retrieval_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="How often it was retrieved.",
        ),
        sa.Column(
            "last_accessed_at", sa.DateTime(timezone=True), nullable=True, comment="Last retrieval."
        ),
        sa.Column(
            "success_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Uses that went well.",
        ),
        sa.Column(
            "failure_count",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="Uses that went wrong.",
        ),
        sa.CheckConstraint("failure_count >= 0", name=op.f("ck_memory_usage_failure_count")),
        sa.CheckConstraint("retrieval_count >= 0", name=op.f("ck_memory_usage_retrieval_count")),
        sa.CheckConstraint("success_count >= 0", name=op.f("ck_memory_usage_success_count")),
        sa.CheckConstraint(
            "last_accessed_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f("ck_memory_usage_last_accessed_at"),
        ),
        sa.PrimaryKeyConstraint("agent_id", "memory_id", name=op.f("pk_memory_usage")),
        schema=schema,
        comment="Counters of use, apart from agent_memories so that counting never touches a vector or its index; no row until the first retrieval.",
    )
    op.execute(f'ALTER TABLE "{schema}".memory_usage SET (fillfactor = 70)')
    op.create_table(
        "memory_events",
        sa.Column(
            "agent_id",
            sa.Text(),
            nullable=False,
            comment="Whose memory it tells of: an agent, or a team.",
        ),
        sa.Column("memory_id", sa.Uuid(), nullable=False, comment="The memory it tells of."),
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUID made by the client, version 7."),
        sa.Column("event_type", sa.Text(), nullable=False, comment="What happened."),
        sa.Column("reason", sa.Text(), nullable=True, comment="Why, in the caller's words."),
        sa.Column("actor", sa.Text(), nullable=True, comment="Who did it."),
        sa.Column(
            "old_values",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Changed fields before.",
        ),
        sa.Column(
            "new_values",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="Changed fields after.",
        ),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="The caller's own fields, a JSON object.",
        ),
        sa.Column(
            "occurred_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="When.",
        ),
        sa.CheckConstraint(
            "occurred_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f("ck_memory_events_occurred_at"),
        ),
        sa.PrimaryKeyConstraint("agent_id", "memory_id", "id", name=op.f("pk_memory_events")),
        schema=schema,
        comment="What happened to memories, append-only; a retrieval leaves no row.",
    )


def _create_memories(table: str, owner: str, owner_comment: str, comment: str) -> None:
    schema = settings().schema
    norm = {"vector": "vector_norm", "halfvec": "l2_norm"}[settings().embedding_type]
    op.create_table(
        table,
        sa.Column(owner, sa.Text(), nullable=False, comment=owner_comment),
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUID made by the client, version 7."),
        sa.Column(
            "usefulness",
            sa.Double(),
            server_default=sa.text("0.5"),
            nullable=False,
            comment="Posterior mean of helpfulness from feedback.",
        ),
        sa.Column(
            "confidence",
            sa.Double(),
            server_default=sa.text("0.8"),
            nullable=False,
            comment="How sure the extraction was.",
        ),
        sa.Column(
            "importance",
            sa.Double(),
            server_default=sa.text("0.5"),
            nullable=False,
            comment="How much it matters, 0 to 1.",
        ),
        sa.Column(
            "trust",
            sa.Double(),
            nullable=True,
            comment="Trust as stored, before decay; NULL: never assessed.",
        ),
        sa.Column(
            "trust_half_life_hours",
            sa.Double(),
            nullable=True,
            comment="Half-life of trust in hours.",
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=True,
            comment="When it came to be; NULL: unknown.",
        ),
        sa.Column(
            "updated_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
            comment="Last change.",
        ),
        sa.Column(
            "valid_from",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="Start of validity, included; NULL: open.",
        ),
        sa.Column(
            "valid_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="End of validity, excluded; NULL: open.",
        ),
        sa.Column(
            "expires_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="From this moment on it is not recalled; NULL: never.",
        ),
        sa.Column(
            "invalidated_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was superseded or forgotten; NULL: it stands.",
        ),
        sa.Column(
            "status",
            sa.Text(),
            server_default=sa.text("'active'"),
            nullable=False,
            comment="active, consolidated, completed or archived.",
        ),
        sa.Column(
            "tier",
            sa.Text(),
            server_default=sa.text("'long'"),
            nullable=False,
            comment="short, medium or long: how long it is meant to last.",
        ),
        sa.Column(
            "memory_type",
            sa.Text(),
            server_default=sa.text("'episodic'"),
            nullable=False,
            comment="Its kind, which is also its store.",
        ),
        sa.Column(
            "trust_curve",
            sa.Text(),
            nullable=True,
            comment="How trust decays: hyperbolic, exponential or linear.",
        ),
        sa.Column(
            "entities",
            postgresql.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="Names of the people, places and things it mentions.",
        ),
        sa.Column(
            "embedding",
            EmbeddingColumn,
            nullable=True,
            comment="Direction of the meaning; NULL: not embedded.",
        ),
        sa.Column(
            "content",
            sa.Text(),
            nullable=False,
            comment="What is remembered, at most 2 MiB of UTF-8.",
        ),
        sa.Column(
            "content_hash",
            sa.LargeBinary(),
            sa.Computed("content_hash(content)", persisted=True),
            nullable=False,
            comment="SHA-256 of the normalised content; equal for exact duplicates.",
        ),
        sa.Column(
            "embedding_model",
            sa.Text(),
            nullable=True,
            comment="The model that made the embedding.",
        ),
        sa.Column(
            "additional_types",
            postgresql.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="Further kinds, where a memory has several.",
        ),
        sa.Column(
            "memory_nature",
            sa.Text(),
            nullable=True,
            comment="semantic, episodic, procedural or a caller's own word.",
        ),
        sa.Column(
            "content_type",
            sa.Text(),
            nullable=True,
            comment="Media type or a caller's own word for the form of content.",
        ),
        sa.Column(
            "subject",
            sa.Text(),
            nullable=True,
            comment="What it is about; newer memories supersede older ones per subject.",
        ),
        sa.Column(
            "tags",
            postgresql.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="Free labels.",
        ),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="The caller's own fields, a JSON object.",
        ),
        sa.Column(
            "needs_review",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Feedback called it outdated.",
        ),
        sa.Column(
            "trust_provenance",
            sa.Double(),
            nullable=True,
            comment="Trust's part from component and confidence.",
        ),
        sa.Column(
            "trust_consensus", sa.Double(), nullable=True, comment="Trust's part from quality."
        ),
        sa.Column(
            "trust_governance", sa.Double(), nullable=True, comment="Trust's part from compliance."
        ),
        sa.Column(
            "trust_usage", sa.Double(), nullable=True, comment="Trust's part from outcomes of use."
        ),
        sa.Column("component", sa.Text(), nullable=True, comment="The component that produced it."),
        sa.Column(
            "output_type",
            sa.Text(),
            nullable=True,
            comment="reasoning, decision, action, observation and so on.",
        ),
        sa.Column("domain", sa.Text(), nullable=True, comment="Domain of the output."),
        sa.Column("category", sa.Text(), nullable=True, comment="Category of the output."),
        sa.Column("loop", sa.Text(), nullable=True, comment="The agent loop it came from."),
        sa.Column(
            "quality_score",
            sa.Double(),
            nullable=True,
            comment="Quality given by the producer; NULL: unknown.",
        ),
        sa.Column(
            "compliant",
            sa.Boolean(),
            nullable=True,
            comment="Whether it passed governance; NULL: not judged.",
        ),
        sa.Column(
            "requires_approval",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Governance asks for approval.",
        ),
        sa.Column(
            "has_errors",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="Errors were found in it.",
        ),
        sa.Column(
            "violates_policy",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="It violates a policy.",
        ),
        sa.Column(
            "under_policy_review",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="A policy review is open.",
        ),
        sa.Column(
            "observed_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was observed, where that differs.",
        ),
        sa.Column(
            "invalidation_reason", sa.Text(), nullable=True, comment="superseded or forgotten."
        ),
        sa.Column(
            "superseded_by", sa.Uuid(), nullable=True, comment="The memory that took its place."
        ),
        sa.CheckConstraint(
            f"{owner} <> '' AND length({owner}) <= 200", name=op.f(f"ck_{table}_{owner}")
        ),
        sa.CheckConstraint(
            "content <> '' AND octet_length(content) <= 2097152", name=op.f(f"ck_{table}_content")
        ),
        sa.CheckConstraint(
            "created_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f(f"ck_{table}_created_at"),
        ),
        sa.CheckConstraint(
            "expires_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f(f"ck_{table}_expires_at"),
        ),
        sa.CheckConstraint(
            "invalidated_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f(f"ck_{table}_invalidated_at"),
        ),
        sa.CheckConstraint(
            "invalidation_reason IN ('superseded', 'forgotten')",
            name=op.f(f"ck_{table}_invalidation_reason"),
        ),
        sa.CheckConstraint("jsonb_typeof(metadata) = 'object'", name=op.f(f"ck_{table}_metadata")),
        sa.CheckConstraint(
            "memory_type <> '' AND length(memory_type) <= 200", name=op.f(f"ck_{table}_memory_type")
        ),
        sa.CheckConstraint(
            "observed_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f(f"ck_{table}_observed_at"),
        ),
        sa.CheckConstraint(
            "status IN ('active', 'consolidated', 'completed', 'archived')",
            name=op.f(f"ck_{table}_status"),
        ),
        sa.CheckConstraint("tier IN ('short', 'medium', 'long')", name=op.f(f"ck_{table}_tier")),
        sa.CheckConstraint(
            "trust_curve IN ('hyperbolic', 'exponential', 'linear')",
            name=op.f(f"ck_{table}_trust_curve"),
        ),
        sa.CheckConstraint(
            "valid_from BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f(f"ck_{table}_valid_from"),
        ),
        sa.CheckConstraint(
            "valid_until BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f(f"ck_{table}_valid_until"),
        ),
        sa.CheckConstraint(
            "confidence = 0 OR confidence BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_confidence"),
        ),
        sa.CheckConstraint(
            "importance = 0 OR importance BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_importance"),
        ),
        sa.CheckConstraint(
            "quality_score = 0 OR quality_score BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_quality_score"),
        ),
        sa.CheckConstraint(
            "trust = 0 OR trust BETWEEN '1e-100'::float8 AND 1", name=op.f(f"ck_{table}_trust")
        ),
        sa.CheckConstraint(
            "trust_consensus = 0 OR trust_consensus BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_trust_consensus"),
        ),
        sa.CheckConstraint(
            "trust_governance = 0 OR trust_governance BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_trust_governance"),
        ),
        sa.CheckConstraint(
            "trust_half_life_hours BETWEEN '1e-3'::float8 AND '1e9'::float8",
            name=op.f(f"ck_{table}_trust_half_life_hours"),
        ),
        sa.CheckConstraint(
            "trust_provenance = 0 OR trust_provenance BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_trust_provenance"),
        ),
        sa.CheckConstraint(
            "trust_usage = 0 OR trust_usage BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_trust_usage"),
        ),
        sa.CheckConstraint(
            "usefulness = 0 OR usefulness BETWEEN '1e-100'::float8 AND 1",
            name=op.f(f"ck_{table}_usefulness"),
        ),
        sa.CheckConstraint("valid_from < valid_until", name=op.f(f"ck_{table}_validity")),
        sa.CheckConstraint(
            f"{norm}(embedding) BETWEEN '1e-15'::float8 AND '1e15'::float8",
            name=op.f(f"ck_{table}_embedding"),
        ),
        sa.CheckConstraint(
            "updated_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f(f"ck_{table}_updated_at"),
        ),
        sa.PrimaryKeyConstraint(owner, "id", name=op.f(f"pk_{table}")),
        schema=schema,
        comment=comment,
    )
    # An embedding stays in its row: fetching it from TOAST doubles the time of exact scoring.
    op.execute(f'ALTER TABLE "{schema}".{table} ALTER COLUMN embedding SET STORAGE PLAIN')


def downgrade() -> None:
    schema = settings().schema
    for table in ("memory_events", "memory_usage", "team_memories", "agent_memories"):
        op.drop_table(table, schema=schema)
    for function in reversed(FUNCTIONS):
        for signature in _signatures(function):
            op.execute(f'DROP FUNCTION "{schema}".{signature}')


def _signatures(function: str) -> list[str]:
    """The overloads of a function; without arguments the name alone has to be unique."""
    if function == "similarity":
        types = ("vector", "halfvec")
        return [f"similarity({embedding}, {embedding}, float8)" for embedding in types]
    return [function]
