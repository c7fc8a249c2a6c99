"""The tables as SQLAlchemy Core values.

Runtime's picture of what the migrations build; a test compares the two. Only identifiers from
here are ever written into a statement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from sqlalchemy import (
    BigInteger,
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
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR

from pgrecall.core.embedding_type import Embedding
from pgrecall.core.limits import (
    EARLIEST,
    INVALIDATION_REASONS,
    LABEL_KINDS,
    LATEST,
    MAX_CONTENT_BYTES,
    MAX_NAME_LENGTH,
    SMALLEST_SHARE,
    STATUSES,
    TIERS,
    TRUST_CURVES,
)
from pgrecall.core.memory import TEAM
from pgrecall.schema.columns import (
    check,
    count_column,
    flag_column,
    moment_column,
    name_column,
    one_of,
    share_column,
    text_column,
    texts_column,
    total_column,
)

DEFAULT_SCHEMA = "pgrecall"

INTERNAL = ("content_hash", "inserted_at", "terms", "edition")
"""Columns that are the database's own affair."""
COUNTERS = (
    *("retrieval_count", "success_count", "failure_count"),
    *("feedback_up", "feedback_down"),
)
"""The columns of memory_usage that only ever grow."""

NAMING_CONVENTION = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one schema."""

    metadata: MetaData
    memories: Table
    memory_usage: Table
    memory_events: Table
    memory_labels: Table
    memory_links: Table
    gc_runs: Table
    rank_indexes: Table
    rank_positions: Table
    component_reputations: Table
    output_type_defaults: Table
    tier_defaults: Table
    profiles: Table
    installed_sql: Table
    granted_roles: Table
    prefix: str = ""
    """What owners' ids begin with in the tables, and not in the caller's words."""

    @property
    def schema(self) -> str:
        return str(self.metadata.schema)

    def of_teams(self) -> Tables:
        """The same tables for working on the memories of teams."""
        return replace(self, prefix=TEAM)


@lru_cache
def tables(schema: str = DEFAULT_SCHEMA) -> Tables:
    """The tables under this schema's name."""
    metadata = MetaData(schema=schema, naming_convention=NAMING_CONVENTION)
    return Tables(
        metadata=metadata,
        memories=_memories(metadata),
        memory_usage=_usage(metadata),
        memory_events=_events(metadata),
        memory_labels=_labels(metadata),
        memory_links=_links(metadata),
        gc_runs=_gc_runs(metadata),
        rank_indexes=_rank_indexes(metadata),
        rank_positions=_rank_positions(metadata),
        component_reputations=_component_reputations(metadata),
        output_type_defaults=_output_type_defaults(metadata),
        tier_defaults=_tier_defaults(metadata),
        profiles=_profiles(metadata),
        installed_sql=_installed_sql(metadata),
        granted_roles=_granted_roles(metadata),
    )


def _memories(metadata: MetaData) -> Table:
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
        moment_column("created_at", "When it came to be; NULL: unknown.", default=text("now()")),
        moment_column("updated_at", "Last change.", default=text("now()"), nullable=False),
        moment_column("valid_from", "Start of validity, included; NULL: open."),
        moment_column("valid_until", "End of validity, excluded; NULL: open."),
        moment_column("expires_at", "From this moment on it is not recalled; NULL: never."),
        moment_column("invalidated_at", "When it was superseded or forgotten; NULL: it stands."),
        moment_column("observed_at", "When it was observed, where that differs."),
        name_column("status", "active, consolidated, completed or archived.", default="active"),
        name_column("tier", "short, medium or long: how long it is meant to last.", default="long"),
        name_column("memory_type", "Its kind, which is also its store.", default="episodic"),
        text_column("trust_curve", "How trust decays: hyperbolic, exponential or linear."),
        texts_column("entities", "Names of the people, places and things it mentions."),
        Column("embedding", Embedding, comment="Direction of the meaning; NULL: not embedded."),
        text_column("content", "What is remembered, at most 2 MiB of UTF-8.", nullable=False),
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
        flag_column("requires_approval", "Governance asks for approval."),
        flag_column("has_errors", "Errors were found in it."),
        flag_column("violates_policy", "It violates a policy."),
        flag_column("under_policy_review", "A policy review is open."),
        text_column("invalidation_reason", "superseded or forgotten."),
        Column("superseded_by", Uuid, comment="The memory that took its place."),
        moment_column(
            "inserted_at",
            "When this row was written by the server's clock.",
            default=text("clock_timestamp()"),
            nullable=False,
        ),
        Column(
            "terms",
            TSVECTOR,
            Computed(f'"{metadata.schema}".lexemes(content)', persisted=True),
            nullable=False,
            comment="The words of content as they are compared, with their places.",
        ),
        Column(
            "tokens",
            Integer,
            comment="What content takes up in a prompt, as its writer counted; NULL: "
            "estimated when a context is packed.",
        ),
        text_column("key", "The caller's own name for it, which its id was made from."),
        Column(
            "edition",
            Integer,
            comment="Which of the active memories of its text it is, from 0; NULL: not known by "
            "its text, but by its key or its id.",
        ),
        text_column("session", "The dialogue of which it is a turn."),
        Column(
            "turn",
            Integer,
            comment="Its place in the session; NULL: after those that have one, by created_at.",
        ),
        PrimaryKeyConstraint("agent_id", "id"),
        *_memory_checks(),
        Index(
            None,
            "agent_id",
            "content_hash",
            "edition",
            unique=True,
            postgresql_where=text("status = 'active'"),
        ),
        Index(
            None,
            "agent_id",
            "content_hash",
            postgresql_where=text("superseded_by IS NOT NULL"),
        ),
        # The conditions IS NOT NULL hold for every row: they keep an index from being read for an
        # owner where a key tells the row, which statistics of a young table make seem as good.
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
            "ix_agent_memories_words",
            # Without the schema, as PostgreSQL writes it where the search_path has it.
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
        *map(_share_check, shares),
        *map(_moment_check, moments),
    ]


def _moment_check(name: str) -> CheckConstraint:
    return check(name, f"{name} BETWEEN '{EARLIEST}' AND '{LATEST}'")


def _usage(metadata: MetaData) -> Table:
    return Table(
        "memory_usage",
        metadata,
        name_column("agent_id", "Whose memory it counts."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it counts."),
        count_column("retrieval_count", "How often it was retrieved."),
        moment_column(
            "last_accessed_at",
            "Last access: a retrieval, an outcome, or the same text said again.",
        ),
        count_column("success_count", "Uses that went well."),
        count_column("failure_count", "Uses that went wrong."),
        count_column("feedback_up", "Feedback for it, weighed: useful 1."),
        count_column(
            "feedback_down", "Feedback against it, weighed: not_useful 1, outdated 1, incorrect 3."
        ),
        PrimaryKeyConstraint("agent_id", "memory_id"),
        *(check(column, f"{column} >= 0") for column in COUNTERS),
        _moment_check("last_accessed_at"),
        comment="Counters of use, apart from agent_memories so that counting never touches a "
        "vector or its index; no row until the first retrieval.",
    )


def _events(metadata: MetaData) -> Table:
    return Table(
        "memory_events",
        metadata,
        name_column("agent_id", "Whose memory it tells of."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it tells of."),
        Column("id", Uuid, nullable=False, comment="UUID made by the client, version 7."),
        name_column("event_type", "What happened."),
        text_column("reason", "Why, in the caller's words."),
        text_column("actor", "Who did it."),
        Column("old_values", JSONB, comment="Changed fields before."),
        Column("new_values", JSONB, comment="Changed fields after."),
        Column(
            "metadata",
            JSONB,
            nullable=False,
            server_default=text("'{}'::jsonb"),
            comment="The caller's own fields, a JSON object.",
        ),
        moment_column("occurred_at", "When.", default=text("now()"), nullable=False),
        PrimaryKeyConstraint("agent_id", "memory_id", "id"),
        Index(None, "agent_id", "occurred_at", postgresql_where=text("event_type <> 'initial'")),
        _moment_check("occurred_at"),
        comment="What happened to memories, append-only; a retrieval leaves no row.",
    )


def _labels(metadata: MetaData) -> Table:
    return Table(
        "memory_labels",
        metadata,
        name_column("agent_id", "Whose memory it labels."),
        Column("memory_id", Uuid, nullable=False, comment="The memory it labels."),
        name_column("kind", "keyword, tag, concept or component."),
        name_column("value", "The label itself."),
        Column(
            "weight",
            Double,
            nullable=False,
            server_default=text("1"),
            comment="How much it says of the memory, 0 to 1.",
        ),
        PrimaryKeyConstraint("agent_id", "memory_id", "kind", "value"),
        Index(None, "agent_id", "value", "kind"),
        check("kind", one_of("kind", LABEL_KINDS)),
        check("value", f"value <> '' AND length(value) <= {MAX_NAME_LENGTH}"),
        _share_check("weight"),
        comment="Labels of memories with a kind and a weight, to find memories by.",
    )


def _links(metadata: MetaData) -> Table:
    return Table(
        "memory_links",
        metadata,
        name_column("agent_id", "Whose memories it links."),
        Column("source_id", Uuid, nullable=False, comment="The memory it starts from."),
        Column("target_id", Uuid, nullable=False, comment="The memory it leads to."),
        name_column("kind", "What the link means: consolidates, or a caller's own word."),
        Column(
            "weight",
            Double,
            nullable=False,
            server_default=text("1"),
            comment="How strong it is, 0 to 1.",
        ),
        PrimaryKeyConstraint("agent_id", "source_id", "target_id", "kind"),
        Index(None, "agent_id", "target_id", postgresql_where=text("target_id IS NOT NULL")),
        check("kind", f"kind <> '' AND length(kind) <= {MAX_NAME_LENGTH}"),
        check("two_memories", "source_id <> target_id"),
        _share_check("weight"),
        comment="Links between two memories of the same owner; followed in both directions.",
    )


def _gc_runs(metadata: MetaData) -> Table:
    return Table(
        "gc_runs",
        metadata,
        name_column("agent_id", "Whose memories were looked at; empty: those of every owner."),
        Column("id", Uuid, nullable=False, comment="The run, a UUID of version 7."),
        name_column("policy", "The policy's name."),
        share_column("min_trust_threshold", "Trust below which it archived."),
        share_column("delete_threshold", "Trust below which it deleted."),
        Column("max_age_hours", Double, comment="Age above which it archived."),
        Column("max_live", BigInteger, comment="Live memories an owner could keep."),
        total_column("scanned", "Live memories looked at."),
        total_column("archived", "Memories archived."),
        total_column("deleted", "Memories deleted."),
        total_column("swept", "Counters, labels and links of memories that are gone, removed."),
        moment_column("started_at", "When it began.", nullable=False),
        Column("seconds", Double, nullable=False, comment="How long it took."),
        Column("finished", Boolean, nullable=False, comment="Whether it came to its end."),
        PrimaryKeyConstraint("agent_id", "id"),
        _moment_check("started_at"),
        comment="Runs of the garbage collection; a dry run leaves none.",
    )


def _rank_indexes(metadata: MetaData) -> Table:
    return Table(
        "rank_indexes",
        metadata,
        name_column("agent_id", "Whose memories it ranks."),
        name_column("relation", "The table of positions that is in use, in this schema."),
        Column("space", Integer, nullable=False, comment="Version of the space they lie in."),
        moment_column("as_of", "The moment the positions are of.", nullable=False),
        moment_column(
            "built_at",
            "What is written or changed from here on is not in it and is scored beside it.",
            nullable=False,
        ),
        total_column("memories", "Memories in it."),
        total_column("at_least", "Used for searches from so many memories on."),
        Column("m", Integer, nullable=False, comment="Links of a node of the HNSW graph."),
        Column(
            "ef_construction",
            Integer,
            nullable=False,
            comment="Candidates looked at for each node when it was built.",
        ),
        Column("seconds", Double, nullable=False, comment="How long the build took."),
        Column(
            "candidates",
            Integer,
            nullable=False,
            server_default=text("100"),
            comment="How many a search takes from it at first, as measured when it was built.",
        ),
        Column(
            "term_memories",
            BigInteger,
            comment="The owner's memories created by as_of, when it was built.",
        ),
        Column(
            "common_terms",
            JSONB,
            comment="Terms that many of them had, and how many; others are counted.",
        ),
        Column(
            "likeness",
            Double,
            comment="How similar to a query, by cosine, the likest that a walk meets usually is.",
        ),
        PrimaryKeyConstraint("agent_id"),
        _moment_check("as_of"),
        _moment_check("built_at"),
        comment="Rank indexes, one of an owner with many memories; derived and disposable.",
    )


def _rank_positions(metadata: MetaData) -> Table:
    """A partition for each rank index, which searches name; functions of the schema make them."""
    positions = Table(
        "rank_positions",
        metadata,
        Column("memory_id", Uuid, nullable=False, comment="Which memory lies there."),
        Column("index_id", Uuid, nullable=False, comment="Of which rank index it is a part."),
        Column("position", Embedding, nullable=False, comment="Where it lies in the rank space."),
        Column("words", ARRAY(BigInteger), nullable=False, comment="The keys of its words."),
        Column("bytes", Integer, nullable=False, comment="How long it is, in UTF-8."),
        PrimaryKeyConstraint("memory_id", "index_id"),
        comment="Positions of memories in the rank space, a partition for each rank index; never "
        "read but by the partition's name, which rank_indexes says.",
        postgresql_partition_by="LIST (index_id)",
    )
    Index(
        "ix_rank_positions_position",
        positions.c.position,
        postgresql_using="hnsw",
        postgresql_ops={"position": "halfvec_ip_ops"},
        postgresql_with={"m": 24, "ef_construction": 256},
    )
    Index(
        "ix_rank_positions_words",
        positions.c.words,
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    return positions


def _component_reputations(metadata: MetaData) -> Table:
    return Table(
        "component_reputations",
        metadata,
        name_column("component", "The component that produces memories; *: any other."),
        Column("reputation", Double, nullable=False, comment="How far it is trusted, 0 to 1."),
        PrimaryKeyConstraint("component"),
        _share_check("reputation"),
        comment="Reputations that trust on write starts from; to be edited.",
    )


def _output_type_defaults(metadata: MetaData) -> Table:
    return Table(
        "output_type_defaults",
        metadata,
        name_column("output_type", "A kind of output; *: any other."),
        text_column("trust_curve", "How its trust decays.", nullable=False),
        Column(
            "trust_half_life_hours",
            Double,
            nullable=False,
            comment="Half-life of its trust in hours.",
        ),
        PrimaryKeyConstraint("output_type"),
        check("trust_curve", one_of("trust_curve", TRUST_CURVES)),
        check(
            "trust_half_life_hours",
            "trust_half_life_hours BETWEEN '1e-3'::float8 AND '1e9'::float8",
        ),
        comment="Decay of trust where a memory says nothing of it; to be edited.",
    )


def _tier_defaults(metadata: MetaData) -> Table:
    return Table(
        "tier_defaults",
        metadata,
        name_column("tier", "short, medium or long."),
        Column(
            "expires_after_hours",
            Double,
            comment="How long after being written a memory of this tier expires; NULL: never.",
        ),
        flag_column("is_default", "The tier of a memory that names none."),
        PrimaryKeyConstraint("tier"),
        check("tier", one_of("tier", TIERS)),
        check(
            "expires_after_hours", "expires_after_hours BETWEEN '1e-3'::float8 AND '1e7'::float8"
        ),
        comment="Expiry by tier where a memory says nothing of it; to be edited.",
    )


def _profiles(metadata: MetaData) -> Table:
    return Table(
        "profiles",
        metadata,
        name_column("name", "Its name, by which recall knows it."),
        Column(
            "definition",
            JSONB,
            nullable=False,
            comment="Its signals with their weights and parameters, as in a file.",
        ),
        PrimaryKeyConstraint("name"),
        comment="Profiles that pgrecall profiles install brought; their functions are written "
        "from these rows.",
    )


def _installed_sql(metadata: MetaData) -> Table:
    return Table(
        "installed_sql",
        metadata,
        name_column("file", "Its path in the folder sql."),
        name_column("level", "Who may call its functions: reader, writer, maintainer or owner."),
        texts_column("objects", "The functions and views that it creates."),
        text_column("hash", "SHA-256 of its text; NULL: to be applied again."),
        texts_column("grants", "What is to be granted again, until it has been."),
        PrimaryKeyConstraint("file"),
        comment="Files of functions and views that were applied to this schema, by pgrecall "
        "migrate up.",
    )


def _granted_roles(metadata: MetaData) -> Table:
    return Table(
        "granted_roles",
        metadata,
        name_column("role", "The role."),
        name_column(
            "level", "reader, writer or maintainer; each may all that those before it may."
        ),
        PrimaryKeyConstraint("role"),
        check("level", one_of("level", ("reader", "writer", "maintainer"))),
        comment="Roles that grant_access has let in; what later versions bring is granted to them "
        "too.",
    )


def _share_check(name: str) -> CheckConstraint:
    return check(name, f"{name} = 0 OR {name} BETWEEN '{SMALLEST_SHARE:g}'::float8 AND 1")
