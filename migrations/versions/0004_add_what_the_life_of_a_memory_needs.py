"""Add labels, links, defaults, the log of garbage collections, and the formulas of trust.

Revision: 0004, after 0003, 2026-11-21
"""

import sqlalchemy as sa
from alembic import op

from pgrecall.migrate.operations import install, settings

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

FUNCTIONS = (
    "event_id",
    "trust_provenance",
    "trust_governance",
    "trust_usage",
    "initial_trust",
    "trust_after_outcome",
    "usefulness_after_feedback",
    "greedy_clusters",
)
SIGNATURES = (
    "event_id()",
    "trust_provenance(float8, float8)",
    "trust_governance(boolean, boolean, boolean, boolean, boolean)",
    "trust_usage(integer, integer, integer)",
    "initial_trust(float8, float8, float8, float8)",
    "trust_after_outcome(float8, boolean, integer, integer, integer)",
    "usefulness_after_feedback(float8, integer, integer, integer, integer)",
    "greedy_clusters(integer[], integer[], integer[], integer)",
)
TABLES = (
    *("memory_labels", "memory_links", "gc_runs"),
    *("component_reputations", "output_type_defaults", "tier_defaults"),
)
VOTES = {
    "feedback_up": "Feedback for it, weighed: useful 1.",
    "feedback_down": "Feedback against it, weighed: not_useful 1, outdated 1, incorrect 3.",
}
REPUTATIONS = {
    "governance": 0.95,
    "parliament": 0.93,
    "quorum": 0.92,
    "hunter": 0.90,
    "specialist": 0.88,
    "reflection": 0.85,
    "causal": 0.85,
    "meta": 0.80,
    "temporal": 0.75,
    "*": 0.70,
}
DAY = 24.0
DECAYS = {
    "reasoning": ("hyperbolic", 7 * DAY),
    "decision": ("hyperbolic", 5 * DAY),
    "reflection": ("hyperbolic", 10 * DAY),
    "action": ("exponential", 3 * DAY),
    "prediction": ("exponential", 4 * DAY),
    "observation": ("linear", 2 * DAY),
    "generation": ("linear", 1 * DAY),
    "*": ("hyperbolic", 168.0),
}


def upgrade() -> None:
    schema = settings().schema
    for function in FUNCTIONS:
        install(f"functions/{function}.sql")
    for column, comment in VOTES.items():
        op.add_column(
            "memory_usage",
            sa.Column(
                column, sa.Integer(), server_default=sa.text("0"), nullable=False, comment=comment
            ),
            schema=schema,
        )
        op.create_check_constraint(
            op.f(f"ck_memory_usage_{column}"), "memory_usage", f"{column} >= 0", schema=schema
        )
    _create_labels(schema)
    _create_links(schema)
    _create_gc_runs(schema)
    _create_defaults(schema)


def downgrade() -> None:
    schema = settings().schema
    for table in reversed(TABLES):
        op.drop_table(table, schema=schema)
    for column in reversed(VOTES):
        op.drop_constraint(f"ck_memory_usage_{column}", "memory_usage", schema=schema)
        op.drop_column("memory_usage", column, schema=schema)
    for signature in reversed(SIGNATURES):
        op.execute(f'DROP FUNCTION "{schema}".{signature}')


def _create_labels(schema: str) -> None:
    op.create_table(
        "memory_labels",
        _name("agent_id", "Whose memory it labels: an agent, or a team."),
        sa.Column("memory_id", sa.Uuid(), nullable=False, comment="The memory it labels."),
        _name("kind", "keyword, tag, concept or component."),
        _name("value", "The label itself."),
        _weight("How much it says of the memory, 0 to 1."),
        sa.CheckConstraint(
            "kind IN ('keyword', 'tag', 'concept', 'component')",
            name=op.f("ck_memory_labels_kind"),
        ),
        sa.CheckConstraint(
            "value <> '' AND length(value) <= 200", name=op.f("ck_memory_labels_value")
        ),
        _share_check("memory_labels", "weight"),
        sa.PrimaryKeyConstraint(
            "agent_id", "memory_id", "kind", "value", name=op.f("pk_memory_labels")
        ),
        schema=schema,
        comment="Labels of memories with a kind and a weight, to find memories by.",
    )
    op.create_index(
        op.f("ix_memory_labels_agent_id_value_kind"),
        "memory_labels",
        ["agent_id", "value", "kind"],
        schema=schema,
    )


def _create_links(schema: str) -> None:
    op.create_table(
        "memory_links",
        _name("agent_id", "Whose memories it links: an agent's, or a team's."),
        sa.Column("source_id", sa.Uuid(), nullable=False, comment="The memory it starts from."),
        sa.Column("target_id", sa.Uuid(), nullable=False, comment="The memory it leads to."),
        _name("kind", "What the link means: consolidates, or a caller's own word."),
        _weight("How strong it is, 0 to 1."),
        sa.CheckConstraint("kind <> '' AND length(kind) <= 200", name=op.f("ck_memory_links_kind")),
        sa.CheckConstraint("source_id <> target_id", name=op.f("ck_memory_links_two_memories")),
        _share_check("memory_links", "weight"),
        sa.PrimaryKeyConstraint(
            "agent_id", "source_id", "target_id", "kind", name=op.f("pk_memory_links")
        ),
        schema=schema,
        comment="Links between two memories of the same owner; followed in both directions.",
    )
    op.create_index(
        op.f("ix_memory_links_agent_id_target_id"),
        "memory_links",
        ["agent_id", "target_id"],
        schema=schema,
    )


def _create_gc_runs(schema: str) -> None:
    op.create_table(
        "gc_runs",
        _name("agent_id", "Whose memories were looked at; empty: those of every owner."),
        sa.Column("id", sa.Uuid(), nullable=False, comment="The run, a UUID of version 7."),
        _name("table_name", "agent_memories or team_memories."),
        _name("policy", "The policy's name."),
        sa.Column("min_trust_threshold", sa.Double(), comment="Trust below which it archived."),
        sa.Column("delete_threshold", sa.Double(), comment="Trust below which it deleted."),
        sa.Column("max_age_hours", sa.Double(), comment="Age above which it archived."),
        sa.Column("max_live", sa.BigInteger(), comment="Live memories an owner could keep."),
        _total("scanned", "Live memories looked at."),
        _total("archived", "Memories archived."),
        _total("deleted", "Memories deleted."),
        _total("swept", "Counters, labels and links of memories that are gone, removed."),
        sa.Column(
            "started_at", sa.DateTime(timezone=True), nullable=False, comment="When it began."
        ),
        sa.Column("seconds", sa.Double(), nullable=False, comment="How long it took."),
        sa.Column("finished", sa.Boolean(), nullable=False, comment="Whether it came to its end."),
        sa.CheckConstraint(
            "started_at BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'",
            name=op.f("ck_gc_runs_started_at"),
        ),
        sa.PrimaryKeyConstraint("agent_id", "id", name=op.f("pk_gc_runs")),
        schema=schema,
        comment="Runs of the garbage collection; a dry run leaves none.",
    )


def _create_defaults(schema: str) -> None:
    reputations = op.create_table(
        "component_reputations",
        _name("component", "The component that produces memories; *: any other."),
        sa.Column(
            "reputation", sa.Double(), nullable=False, comment="How far it is trusted, 0 to 1."
        ),
        _share_check("component_reputations", "reputation"),
        sa.PrimaryKeyConstraint("component", name=op.f("pk_component_reputations")),
        schema=schema,
        comment="Reputations that trust on write starts from; to be edited.",
    )
    op.bulk_insert(
        reputations,
        [{"component": name, "reputation": value} for name, value in REPUTATIONS.items()],
    )
    decays = op.create_table(
        "output_type_defaults",
        _name("output_type", "A kind of output; *: any other."),
        sa.Column("trust_curve", sa.Text(), nullable=False, comment="How its trust decays."),
        sa.Column(
            "trust_half_life_hours",
            sa.Double(),
            nullable=False,
            comment="Half-life of its trust in hours.",
        ),
        sa.CheckConstraint(
            "trust_curve IN ('hyperbolic', 'exponential', 'linear')",
            name=op.f("ck_output_type_defaults_trust_curve"),
        ),
        sa.CheckConstraint(
            "trust_half_life_hours BETWEEN '1e-3'::float8 AND '1e9'::float8",
            name=op.f("ck_output_type_defaults_trust_half_life_hours"),
        ),
        sa.PrimaryKeyConstraint("output_type", name=op.f("pk_output_type_defaults")),
        schema=schema,
        comment="Decay of trust where a memory says nothing of it; to be edited.",
    )
    op.bulk_insert(
        decays,
        [
            {"output_type": name, "trust_curve": curve, "trust_half_life_hours": hours}
            for name, (curve, hours) in DECAYS.items()
        ],
    )
    tiers = op.create_table(
        "tier_defaults",
        _name("tier", "short, medium or long."),
        sa.Column(
            "expires_after_hours",
            sa.Double(),
            comment="How long after being written a memory of this tier expires; NULL: never.",
        ),
        sa.Column(
            "is_default",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="The tier of a memory that names none.",
        ),
        sa.CheckConstraint(
            "tier IN ('short', 'medium', 'long')", name=op.f("ck_tier_defaults_tier")
        ),
        sa.CheckConstraint(
            "expires_after_hours BETWEEN '1e-3'::float8 AND '1e7'::float8",
            name=op.f("ck_tier_defaults_expires_after_hours"),
        ),
        sa.PrimaryKeyConstraint("tier", name=op.f("pk_tier_defaults")),
        schema=schema,
        comment="Expiry by tier where a memory says nothing of it; to be edited.",
    )
    op.bulk_insert(
        tiers,
        [
            {"tier": "short", "expires_after_hours": 24.0, "is_default": False},
            {"tier": "medium", "expires_after_hours": None, "is_default": False},
            {"tier": "long", "expires_after_hours": None, "is_default": True},
        ],
    )


def _name(name: str, comment: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False, comment=comment)


def _weight(comment: str) -> sa.Column[float]:
    return sa.Column(
        "weight", sa.Double(), server_default=sa.text("1"), nullable=False, comment=comment
    )


def _total(name: str, comment: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=False, comment=comment)


def _share_check(table: str, column: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(
        f"{column} = 0 OR {column} BETWEEN '1e-100'::float8 AND 1",
        name=op.f(f"ck_{table}_{column}"),
    )
