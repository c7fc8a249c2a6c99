"""The tables as SQLAlchemy Core values.

Runtime's picture of what the migrations build; a test compares the two. Only identifiers from
here are ever written into a statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from pgrecall.schema.types import Embedding

DEFAULT_SCHEMA = "pgrecall"

NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

MAX_CONTENT_BYTES = 2 * 1024 * 1024
MAX_NAME_LENGTH = 200
"""Characters, of agent_id and every other short text."""

STATUSES = ("active", "consolidated", "completed", "archived")
TIERS = ("short", "medium", "long")
TRUST_CURVES = ("hyperbolic", "exponential", "linear")
INVALIDATION_REASONS = ("superseded", "forgotten")
SMALLEST_SHARE = 1e-100
"""A share is 0 or at least this: products of smaller numbers underflow, which is an error."""

EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""The moments that a datetime can hold in any time zone."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one schema."""

    metadata: MetaData
    agent_memories: Table
    memory_usage: Table
    memory_events: Table

    @property
    def schema(self) -> str:
        return str(self.metadata.schema)


@lru_cache
def tables(schema: str = DEFAULT_SCHEMA) -> Tables:
    """The tables under this schema's name."""
    metadata = MetaData(schema=schema, naming_convention=NAMING_CONVENTION)
    return Tables(
        metadata=metadata,
        agent_memories=_memories("agent_memories", metadata),
        memory_usage=_usage(metadata),
        memory_events=_events(metadata),
    )


def _memories(name: str, metadata: MetaData) -> Table:
    return Table(
        name,
        metadata,
        _name("agent_id", "Whose memory this is; every statement filters on it."),
        Column("id", Uuid, nullable=False, comment="UUID made by the client, version 7."),
        _text("content", "What is remembered, at most 2 MiB of UTF-8.", nullable=False),
        Column(
            "content_hash",
            LargeBinary,
            Computed(f'"{metadata.schema}".content_hash(content)', persisted=True),
            nullable=False,
            comment="SHA-256 of the normalised content; equal for exact duplicates.",
        ),
        Column("embedding", Embedding, comment="Direction of the meaning; NULL: not embedded."),
        _text("embedding_model", "The model that made the embedding."),
        _name("memory_type", "Its kind, which is also its store.", default="episodic"),
        _texts("additional_types", "Further kinds, where a memory has several."),
        _text("memory_nature", "semantic, episodic, procedural or a caller's own word."),
        _text("content_type", "Media type or a caller's own word for the form of content."),
        _name("tier", "short, medium or long: how long it is meant to last.", default="long"),
        _name("status", "active, consolidated, completed or archived.", default="active"),
        _text("subject", "What it is about; newer memories supersede older ones per subject."),
        _texts("tags", "Free labels."),
        _texts("entities", "Names of the people, places and things it mentions."),
        Column(
            "metadata",
            JSONB,
            nullable=False,
            server_default=text("'{}'::jsonb"),
            comment="The caller's own fields, a JSON object.",
        ),
        _share("importance", "How much it matters, 0 to 1.", default="0.5"),
        _share("usefulness", "Posterior mean of helpfulness from feedback.", default="0.5"),
        _share("confidence", "How sure the extraction was.", default="0.8"),
        _flag("needs_review", "Feedback called it outdated."),
        _share("trust", "Trust as stored, before decay; NULL: never assessed."),
        _share("trust_provenance", "Trust's part from component and confidence."),
        _share("trust_consensus", "Trust's part from quality."),
        _share("trust_governance", "Trust's part from compliance."),
        _share("trust_usage", "Trust's part from outcomes of use."),
        _text("trust_curve", "How trust decays: hyperbolic, exponential or linear."),
        Column("trust_half_life_hours", Double, comment="Half-life of trust in hours."),
        _text("component", "The component that produced it."),
        _text("output_type", "reasoning, decision, action, observation and so on."),
        _text("domain", "Domain of the output."),
        _text("category", "Category of the output."),
        _text("loop", "The agent loop it came from."),
        _share("quality_score", "Quality given by the producer; NULL: unknown."),
        Column("compliant", Boolean, comment="Whether it passed governance; NULL: not judged."),
        _flag("requires_approval", "Governance asks for approval."),
        _flag("has_errors", "Errors were found in it."),
        _flag("violates_policy", "It violates a policy."),
        _flag("under_policy_review", "A policy review is open."),
        _moment("created_at", "When it came to be; NULL: unknown.", default=text("now()")),
        _moment("observed_at", "When it was observed, where that differs."),
        _moment("updated_at", "Last change.", default=text("now()"), nullable=False),
        _moment("valid_from", "Start of validity, included; NULL: open."),
        _moment("valid_until", "End of validity, excluded; NULL: open."),
        _moment("expires_at", "From this moment on it is not recalled; NULL: never."),
        _moment("invalidated_at", "When it was superseded or forgotten; NULL: it stands."),
        _text("invalidation_reason", "superseded or forgotten."),
        Column("superseded_by", Uuid, comment="The memory that took its place."),
        PrimaryKeyConstraint("agent_id", "id"),
        *_memory_checks(),
        comment="Memories of agents, one row each; nothing here changes when one is retrieved.",
    )


def _memory_checks() -> list[CheckConstraint]:
    shares = (
        *("importance", "usefulness", "confidence", "quality_score", "trust"),
        *("trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
    )
    moments = (
        *("created_at", "observed_at", "valid_from", "valid_until"),
        *("expires_at", "invalidated_at"),
    )
    return [
        _check("agent_id", f"agent_id <> '' AND length(agent_id) <= {MAX_NAME_LENGTH}"),
        _check("content", f"content <> '' AND octet_length(content) <= {MAX_CONTENT_BYTES}"),
        _check("memory_type", f"memory_type <> '' AND length(memory_type) <= {MAX_NAME_LENGTH}"),
        _check("metadata", "jsonb_typeof(metadata) = 'object'"),
        _check("tier", _one_of("tier", TIERS)),
        _check("status", _one_of("status", STATUSES)),
        _check("trust_curve", _one_of("trust_curve", TRUST_CURVES)),
        _check("trust_half_life_hours", "trust_half_life_hours BETWEEN 1e-3 AND 1e9"),
        _check("invalidation_reason", _one_of("invalidation_reason", INVALIDATION_REASONS)),
        _check("validity", "valid_from < valid_until"),
        *(
            _check(share, f"{share} = 0 OR {share} BETWEEN {SMALLEST_SHARE:g} AND 1")
            for share in shares
        ),
        *(_check(m, f"{m} BETWEEN '{EARLIEST}' AND '{LATEST}'") for m in moments),
    ]


def _usage(metadata: MetaData) -> Table:
    return Table(
        "memory_usage",
        metadata,
        _name("agent_id", "Whose memory it counts."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it counts."),
        _count("retrieval_count", "How often it was retrieved."),
        _moment("last_accessed_at", "Last retrieval."),
        _count("success_count", "Uses that went well."),
        _count("failure_count", "Uses that went wrong."),
        PrimaryKeyConstraint("agent_id", "memory_id"),
        *(
            _check(column, f"{column} >= 0")
            for column in ("retrieval_count", "success_count", "failure_count")
        ),
        comment="Counters of use, apart from agent_memories so that counting never touches a "
        "vector or its index; no row until the first retrieval.",
    )


def _events(metadata: MetaData) -> Table:
    return Table(
        "memory_events",
        metadata,
        _name("agent_id", "Whose memory it tells of."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it tells of."),
        Column("id", Uuid, nullable=False, comment="UUID made by the client, version 7."),
        _name("event_type", "What happened."),
        _text("reason", "Why, in the caller's words."),
        _text("actor", "Who did it."),
        Column("old_values", JSONB, comment="Changed fields before."),
        Column("new_values", JSONB, comment="Changed fields after."),
        Column(
            "metadata",
            JSONB,
            nullable=False,
            server_default=text("'{}'::jsonb"),
            comment="The caller's own fields, a JSON object.",
        ),
        _moment("occurred_at", "When.", default=text("now()"), nullable=False),
        PrimaryKeyConstraint("agent_id", "memory_id", "id"),
        comment="What happened to memories, append-only; a retrieval leaves no row.",
    )


def _name(name: str, comment: str, *, default: str | None = None) -> Column[Any]:
    server_default = None if default is None else text(f"'{default}'")
    return Column(name, Text, nullable=False, server_default=server_default, comment=comment)


def _text(name: str, comment: str, *, nullable: bool = True) -> Column[Any]:
    return Column(name, Text, nullable=nullable, comment=comment)


def _texts(name: str, comment: str) -> Column[Any]:
    return Column(
        name, ARRAY(Text), nullable=False, server_default=text("'{}'::text[]"), comment=comment
    )


def _share(name: str, comment: str, *, default: str | None = None) -> Column[Any]:
    return Column(
        name,
        Double,
        nullable=default is None,
        server_default=None if default is None else text(default),
        comment=comment,
    )


def _flag(name: str, comment: str) -> Column[Any]:
    return Column(name, Boolean, nullable=False, server_default=text("false"), comment=comment)


def _count(name: str, comment: str) -> Column[Any]:
    return Column(name, Integer, nullable=False, server_default=text("0"), comment=comment)


def _moment(name: str, comment: str, *, default: Any = None, nullable: bool = True) -> Column[Any]:
    return Column(
        name, DateTime(timezone=True), nullable=nullable, server_default=default, comment=comment
    )


def _check(name: str, condition: str) -> CheckConstraint:
    return CheckConstraint(condition, name=name)


def _one_of(column: str, values: Sequence[str]) -> str:
    return f"{column} IN ({', '.join(repr(value) for value in values)})"
