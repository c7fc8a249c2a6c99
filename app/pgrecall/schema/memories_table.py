"""The table of memories."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from pgrecall.core.embedding_type import Embedding
from pgrecall.core.limits import (
    EARLIEST,
    INVALIDATION_REASONS,
    LATEST,
    MAX_CONTENT_BYTES,
    MAX_NAME_LENGTH,
    STATUSES,
    TIERS,
    TRUST_CURVES,
)
from pgrecall.core.memory import TEAM
from pgrecall.schema.check import share_check
from pgrecall.schema.columns import (
    check,
    flag_column,
    moment_column,
    name_column,
    one_of,
    share_column,
    text_column,
    texts_column,
)


def memories_table(metadata: MetaData) -> Table:
    return Table(
        "agent_memories",
        metadata,
        # What ranking reads comes first: PostgreSQL unpacks a row from its start.
        name_column(
            "agent_id",
            "Its owner: an agent, or a team as team:<id>; every statement filters on it.",
        ),
        Column("id", Uuid, nullable=False, comment="UUID made by the client, version 7."),
        share_column("usefulness", "Posterior mean of helpfulness from feedback.", default="0.5"),
        share_column("confidence", "How sure the extraction was.", default="0.8"),
        share_column("importance", "How much it matters, 0 to 1.", default="0.5"),
        share_column("trust", "Trust as stored, before decay; NULL: never assessed."),
        Column("trust_half_life_hours", Double, comment="Half-life of trust in hours."),
        moment_column("created_at", "When it was created; NULL: unknown.", default=text("now()")),
        moment_column("updated_at", "Last change.", default=text("now()"), nullable=False),
        moment_column("valid_from", "Start of validity, included; NULL: open."),
        moment_column("valid_until", "End of validity, excluded; NULL: open."),
        moment_column("expires_at", "From this moment on it is not recalled; NULL: never."),
        moment_column("invalidated_at", "When it was superseded or forgotten; NULL: never."),
        moment_column("observed_at", "When it was observed, where not at created_at."),
        name_column(
            "status", "active, pending, consolidated, completed or archived.", default="active"
        ),
        name_column("tier", "short, medium or long: how long it is meant to last.", default="long"),
        name_column("memory_type", "Its kind, such as episodic, fact or task.", default="episodic"),
        text_column("trust_curve", "How trust decays: hyperbolic, exponential or linear."),
        texts_column("entities", "Names of the people, places and things it mentions."),
        Column("embedding", Embedding, comment="The vector of its meaning; NULL: not embedded."),
        text_column("content", "The text, at most 2 MiB of UTF-8.", nullable=False),
        Column(
            "content_hash",
            LargeBinary,
            Computed(f'"{metadata.schema}".content_hash(content)', persisted=True),
            nullable=False,
            comment="SHA-256 of the normalised content; equal for exact duplicates.",
        ),
        text_column("embedding_model", "The model that made the embedding."),
        texts_column("additional_types", "Further kinds, where a memory has several."),
        text_column("memory_nature", "semantic, episodic, procedural or a caller's own word."),
        text_column("content_type", "Media type or a caller's own word for the form of content."),
        text_column(
            "subject", "What it is about; newer memories supersede older ones per subject."
        ),
        texts_column("tags", "Free labels."),
        Column(
            "metadata",
            JSONB,
            nullable=False,
            server_default=text("'{}'::jsonb"),
            comment="The caller's own fields, a JSON object.",
        ),
        flag_column("needs_review", "Feedback called it outdated."),
        share_column("trust_provenance", "Trust's part from component and confidence."),
        share_column("trust_consensus", "Trust's part from quality."),
        share_column("trust_governance", "Trust's part from compliance."),
        share_column("trust_usage", "Trust's part from outcomes of use."),
        text_column("component", "The component that produced it."),
        text_column("output_type", "reasoning, decision, action, observation and so on."),
        text_column("domain", "Domain of the output."),
        text_column("category", "Category of the output."),
        text_column("loop", "The agent loop it came from."),
        share_column("quality_score", "Quality given by the producer; NULL: unknown."),
        Column("compliant", Boolean, comment="Whether it passed governance; NULL: not judged."),
        flag_column("requires_approval", "Governance asks for approval: it begins as pending."),
        flag_column("has_errors", "Errors were found in it."),
        flag_column("violates_policy", "It violates a policy."),
        flag_column("under_policy_review", "A policy review is open."),
        text_column("invalidation_reason", "superseded or forgotten."),
        Column("superseded_by", Uuid, comment="The memory that took its place."),
        moment_column(
            "inserted_at",
            "When this row was written, by the server's clock.",
            default=text("clock_timestamp()"),
            nullable=False,
        ),
        Column(
            "terms",
            TSVECTOR,
            Computed(f'"{metadata.schema}".lexemes(content)', persisted=True),
            nullable=False,
            comment="The words of content as they are compared, with their positions.",
        ),
        Column(
            "tokens",
            Integer,
            comment="Tokens of content, as its writer counted; NULL: estimated when a context is "
            "packed.",
        ),
        text_column("key", "The caller's own name for it, which its id was made from."),
        Column(
            "edition",
            Integer,
            comment="Its number among the active memories of its text, from 0; NULL: known by its "
            "key or id, not by its text.",
        ),
        text_column("session", "The dialogue of which it is a turn."),
        Column(
            "turn",
            Integer,
            comment="Its place in the session; turns without one come last, by created_at.",
        ),
        PrimaryKeyConstraint("agent_id", "id"),
        *_memory_checks(),
        # IS NOT NULL holds for every row. It stops the planner from using these indexes for a
        # lookup by key, which looks as cheap as long as the statistics are those of a new table.
        Index(
            "ix_agent_memories_content_hash_edition",
            "agent_id",
            "content_hash",
            "edition",
            unique=True,
            postgresql_where=text("content_hash IS NOT NULL AND status = 'active'"),
        ),
        Index(
            None,
            "agent_id",
            "content_hash",
            postgresql_where=text("superseded_by IS NOT NULL"),
        ),
        Index(None, "agent_id", "inserted_at", postgresql_where=text("inserted_at IS NOT NULL")),
        Index(
            "ix_agent_memories_turns",
            "agent_id",
            "session",
            text("COALESCE(turn, 2147483647)"),
            text("COALESCE(created_at, 'infinity'::timestamp with time zone)"),
            "id",
            postgresql_where=text("session IS NOT NULL"),
        ),
        Index(
            "ix_agent_memories_newest_of_subject",
            "agent_id",
            text('"left"(subject, 200)'),
            text("COALESCE(created_at, '-infinity'::timestamp with time zone)"),
            "id",
            postgresql_where=text(
                "subject IS NOT NULL AND status = 'active' AND invalidated_at IS NULL"
            ),
        ),
        Index(
            "ix_agent_memories_words",
            # Without a schema, because reflection shows the function like this.
            text("term_keys(agent_id, terms)"),
            postgresql_using="gin",
        ),
        comment="Memories of agents and teams, one row each; nothing here changes when one is "
        "retrieved.",
    )


def _memory_checks() -> list[CheckConstraint]:
    shares = (
        *("importance", "usefulness", "confidence", "quality_score", "trust"),
        *("trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
    )
    moments = (
        *("created_at", "observed_at", "updated_at", "valid_from", "valid_until"),
        *("expires_at", "invalidated_at", "inserted_at"),
    )
    return [
        check(
            "agent_id",
            f"agent_id <> '' AND agent_id <> '{TEAM}' "
            f"AND length(agent_id) <= {MAX_NAME_LENGTH + len(TEAM)}",
        ),
        check("content", f"content <> '' AND octet_length(content) <= {MAX_CONTENT_BYTES}"),
        check("memory_type", f"memory_type <> '' AND length(memory_type) <= {MAX_NAME_LENGTH}"),
        check("metadata", "jsonb_typeof(metadata) = 'object'"),
        check("tier", one_of("tier", TIERS)),
        check("status", one_of("status", STATUSES)),
        check("trust_curve", one_of("trust_curve", TRUST_CURVES)),
        check(
            "trust_half_life_hours",
            "trust_half_life_hours BETWEEN '1e-3'::float8 AND '1e9'::float8",
        ),
        check("invalidation_reason", one_of("invalidation_reason", INVALIDATION_REASONS)),
        check("validity", "valid_from < valid_until"),
        check("tokens", "tokens >= 0"),
        check("key", f"key <> '' AND length(key) <= {MAX_NAME_LENGTH}"),
        check("edition", "edition >= 0 AND (edition IS NULL OR key IS NULL)"),
        check("session", f"session <> '' AND length(session) <= {MAX_NAME_LENGTH}"),
        check("turn", "turn >= 0 AND (turn IS NULL OR session IS NOT NULL)"),
        *map(share_check, shares),
        *map(_moment_check, moments),
    ]


def _moment_check(name: str) -> CheckConstraint:
    return check(name, f"{name} BETWEEN '{EARLIEST}' AND '{LATEST}'")
