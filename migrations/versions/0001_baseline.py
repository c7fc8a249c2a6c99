"""Create the tables, the functions and the views.

Revision: 0001, 2026-11-28
"""

from typing import Any

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB, REAL, TSVECTOR

from pgrecall.migrate.operations import VectorColumn, extension, install, load_pgvector, settings
from pgrecall.migrate.state import qualified_language

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BOUND = ("content_hash", "folded", "lexemes", "term_key", "term_keys")
"""What generated columns and indexes are made of, with text_language, which `lexemes` calls."""

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
TIERS = {"short": (24.0, False), "medium": (None, False), "long": (None, True)}
"""When a memory of each tier expires, in hours, and whether it is the default tier."""

CURVES = "IN ('hyperbolic', 'exponential', 'linear')"
HALF_LIFE = "BETWEEN '1e-3'::float8 AND '1e9'::float8"
DROP_ALL = """
    DO $$
    DECLARE
        ours oid := '"SCHEMA"'::regnamespace;
        kind text;
        named text;
    BEGIN
        -- This raises an error that names what others have built on them.
        IF to_regprocedure('drop_objects(text[])') IS NOT NULL THEN
            PERFORM drop_objects(ARRAY(
                SELECT name FROM installed_sql i, unnest(i.objects) name
                 WHERE i.file NOT LIKE 'migrate/%'));
        END IF;
        FOR kind, named IN
            SELECT 'VIEW', string_agg(oid::regclass::text, ', ')
              FROM pg_class WHERE relnamespace = ours AND relkind = 'v'
            UNION ALL
            SELECT 'TABLE', string_agg(oid::regclass::text, ', ')
              FROM pg_class WHERE relnamespace = ours AND relkind IN ('r', 'p')
               AND relname <> 'alembic_version'
            UNION ALL
            SELECT 'ROUTINE', string_agg(oid::regprocedure::text, ', ')
              FROM pg_proc p WHERE pronamespace = ours
               AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e') LOOP
            IF named IS NOT NULL THEN
                EXECUTE 'DROP ' || kind || ' ' || named;
            END IF;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    load_pgvector()
    _create_text_language()
    _create_chosen_profile()
    for name in BOUND:
        install(f"{name}.sql")
    _create_memories()
    _create_usage()
    _create_events()
    _create_links()
    _create_maintenance_runs()
    _create_rank_indexes()
    _create_rank_positions()
    _create_owner_vectors()
    _create_entity_names()
    _create_defaults()
    _create_profiles()
    _create_embedding_model()
    _create_installed_sql()
    _create_granted_roles()
    _create_service_keys()


def downgrade() -> None:
    op.execute(DROP_ALL.replace("SCHEMA", settings().schema))


def _create_text_language() -> None:
    language = settings().language
    if not context.is_offline_mode():
        language = qualified_language(op.get_bind(), language)
    op.execute(
        "CREATE FUNCTION text_language() RETURNS regconfig "
        f"LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN '{language}'::regconfig"
    )
    op.execute("REVOKE ALL ON FUNCTION text_language FROM PUBLIC")
    op.execute(
        "COMMENT ON FUNCTION text_language IS "
        "'The language by which words are compared; changed by change_text_language.'"
    )


def _create_chosen_profile() -> None:
    op.execute(
        "CREATE FUNCTION chosen_profile() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE "
        "RETURN NULL::text"
    )
    op.execute("REVOKE ALL ON FUNCTION chosen_profile FROM PUBLIC")
    op.execute(
        "COMMENT ON FUNCTION chosen_profile IS 'The profile that set_default_profile has set.'"
    )


def _create_memories() -> None:
    table = "agent_memories"
    norm = {"vector": "vector_norm", "halfvec": "l2_norm"}[settings().embedding_type]
    shares = (
        *("usefulness", "confidence", "importance", "trust", "quality_score"),
        *("trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
    )
    moments = (
        *("created_at", "updated_at", "valid_from", "valid_until", "expires_at"),
        *("invalidated_at", "observed_at", "inserted_at"),
    )
    _create(
        table,
        "Memories of agents and teams, one row each; nothing here changes when one is retrieved.",
        # What ranking reads comes first: PostgreSQL unpacks a row from its start.
        _name(
            "agent_id",
            "Its owner: an agent, or a team as team:<id>; every statement filters on it.",
        ),
        _id("id", "UUID made by the client, version 7."),
        _share("usefulness", "Posterior mean of helpfulness from feedback.", "0.5"),
        _share("confidence", "How sure the extraction was.", "0.8"),
        _share("importance", "How much it matters, 0 to 1.", "0.5"),
        _share("trust", "Trust as stored, before decay; NULL: never assessed."),
        sa.Column("trust_half_life_hours", sa.Double(), comment="Half-life of trust in hours."),
        _moment("created_at", "When it was created; NULL: unknown.", "now()"),
        _moment("updated_at", "Last change.", "now()", nullable=False),
        _moment("valid_from", "Start of validity, included; NULL: open."),
        _moment("valid_until", "End of validity, excluded; NULL: open."),
        _moment("expires_at", "From this moment on it is not recalled; NULL: never."),
        _moment("invalidated_at", "When it was superseded or forgotten; NULL: never."),
        _moment("observed_at", "When it was observed, where not at created_at."),
        _name("status", "active, pending, consolidated, completed or archived.", "active"),
        _name("tier", "short, medium or long: how long it is meant to last.", "long"),
        _name("memory_type", "Its kind, such as episodic, fact or task.", "episodic"),
        _text("trust_curve", "How trust decays: hyperbolic, exponential or linear."),
        _texts("entities", "Names of the people, places and things it mentions."),
        sa.Column(
            "embedding",
            VectorColumn(settings().column_type),
            comment="The vector of its meaning; NULL: not embedded.",
        ),
        _name("content", "The text, at most 2 MiB of UTF-8."),
        sa.Column(
            "content_hash",
            sa.LargeBinary(),
            sa.Computed("content_hash(content)", persisted=True),
            nullable=False,
            comment="SHA-256 of the normalised content; equal for exact duplicates.",
        ),
        _text("embedding_model", "The model that made the embedding."),
        _texts("additional_types", "Further kinds, where a memory has several."),
        _text("memory_nature", "semantic, episodic, procedural or a caller's own word."),
        _text("content_type", "Media type or a caller's own word for the form of content."),
        _text("subject", "What it is about; newer memories supersede older ones per subject."),
        _texts("tags", "Free words, or kind:value."),
        _json("metadata", "The caller's own fields, a JSON object.", "'{}'::jsonb"),
        _flag("needs_review", "Feedback called it outdated."),
        _share("trust_provenance", "Trust's part from component and confidence."),
        _share("trust_consensus", "Trust's part from quality."),
        _share("trust_governance", "Trust's part from compliance."),
        _share("trust_usage", "Trust's part from outcomes of use."),
        _text("component", "The component that produced it."),
        _text("output_type", "reasoning, decision, action, observation and so on."),
        _text("domain", "Domain of the output."),
        _text("category", "Category of the output."),
        _text("loop", "The agent loop it came from."),
        _share("quality_score", "Quality given by the producer; NULL: unknown."),
        sa.Column(
            "compliant", sa.Boolean(), comment="Whether it passed governance; NULL: not judged."
        ),
        _flag("requires_approval", "Governance asks for approval: it begins as pending."),
        _flag("has_errors", "Errors were found in it."),
        _flag("violates_policy", "It violates a policy."),
        _flag("under_policy_review", "A policy review is open."),
        _text("invalidation_reason", "superseded or forgotten."),
        sa.Column("superseded_by", sa.Uuid(), comment="The memory that took its place."),
        _moment(
            "inserted_at",
            "When this row was written, by the server's clock.",
            "clock_timestamp()",
            nullable=False,
        ),
        sa.Column(
            "terms",
            TSVECTOR(),
            sa.Computed("lexemes(content)", persisted=True),
            nullable=False,
            comment="The words of content as they are compared, with their positions.",
        ),
        sa.Column(
            "tokens",
            sa.Integer(),
            comment="Tokens of content, as its writer counted; NULL: estimated when a context is "
            "packed.",
        ),
        _text("key", "The caller's own name for it, which its id was made from."),
        sa.Column(
            "edition",
            sa.Integer(),
            comment="Its number among the active memories of its text, from 0; NULL: known by its "
            "key or id, not by its text.",
        ),
        _text("session", "The dialogue of which it is a turn."),
        sa.Column(
            "turn",
            sa.Integer(),
            comment="Its place in the session; turns without one come last, by created_at.",
        ),
        *_checks(
            table,
            agent_id="agent_id <> '' AND agent_id <> 'team:' AND length(agent_id) <= 205",
            content="content <> '' AND octet_length(content) <= 2097152",
            memory_type="memory_type <> '' AND length(memory_type) <= 200",
            metadata="jsonb_typeof(metadata) = 'object'",
            status="status IN ('active', 'pending', 'consolidated', 'completed', 'archived')",
            tier="tier IN ('short', 'medium', 'long')",
            trust_curve=f"trust_curve {CURVES}",
            trust_half_life_hours=f"trust_half_life_hours {HALF_LIFE}",
            invalidation_reason="invalidation_reason IN ('superseded', 'forgotten')",
            validity="valid_from < valid_until",
            tokens="tokens >= 0",
            key="key <> '' AND length(key) <= 200",
            edition="edition >= 0 AND (edition IS NULL OR key IS NULL)",
            session="session <> '' AND length(session) <= 200",
            turn="turn >= 0 AND (turn IS NULL OR session IS NOT NULL)",
            embedding=f"{extension()}.{norm}(embedding) BETWEEN '1e-15'::float8 AND '1e15'::float8",
        ),
        *_share_checks(table, *shares),
        *_moment_checks(table, *moments),
        key=("agent_id", "id"),
    )
    # An embedding stays in its row: fetching it from TOAST doubles the time of exact scoring.
    op.execute(
        f'ALTER TABLE "{settings().schema}".{table} ALTER COLUMN embedding SET STORAGE PLAIN'
    )
    # IS NOT NULL holds for every row. It stops the planner from using these indexes for a lookup by
    # key, which looks as cheap as long as the statistics are those of a new table.
    _index(
        table,
        "content_hash_edition",
        "agent_id, content_hash, edition",
        unique=True,
        where="content_hash IS NOT NULL AND status = 'active'",
    )
    _index(
        table,
        "agent_id_content_hash",
        "agent_id, content_hash",
        where="superseded_by IS NOT NULL",
    )
    _index(
        table,
        "agent_id_inserted_at",
        "agent_id, inserted_at",
        where="inserted_at IS NOT NULL",
    )
    _index(
        table,
        "agent_id_expires_at",
        "agent_id, expires_at",
        where="expires_at IS NOT NULL AND status <> 'archived'",
    )
    _index(
        table,
        "newest_of_subject",
        # an entry of an index has at most 2,704 bytes
        "agent_id, left(subject, 200), coalesce(created_at, '-infinity'), id",
        where="subject IS NOT NULL AND status = 'active' AND invalidated_at IS NULL",
    )
    _index(
        table,
        "turns",
        "agent_id, session, coalesce(turn, 2147483647), coalesce(created_at, 'infinity'), id",
        where="session IS NOT NULL",
    )
    _index(
        table,
        "words",
        "term_keys(agent_id, terms)",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )


def _create_usage() -> None:
    counters = {
        "success_count": "Uses that went well.",
        "failure_count": "Uses that went wrong.",
        "feedback_up": "Feedback for it, weighed: useful 1.",
        "feedback_down": "Feedback against it, weighed: not_useful 1, outdated 1, incorrect 3.",
    }
    _create(
        "memory_usage",
        "Counters of use, apart from agent_memories so that counting never touches a vector or its "
        "index; no row until the first use.",
        _name("agent_id", "Whose memory it counts."),
        _id("memory_id", "The memory it counts."),
        _count("retrieval_count", "How often it was retrieved."),
        _moment(
            "last_accessed_at",
            "Last access: a retrieval, an outcome, or the same text added again.",
        ),
        *(_count(name, comment) for name, comment in counters.items()),
        *_checks(
            "memory_usage", **{name: f"{name} >= 0" for name in ("retrieval_count", *counters)}
        ),
        *_moment_checks("memory_usage", "last_accessed_at"),
        key=("agent_id", "memory_id"),
    )
    # Room for the next version of a row on its page, so that counting moves no index entry.
    op.execute(f'ALTER TABLE "{settings().schema}".memory_usage SET (fillfactor = 70)')


def _create_events() -> None:
    _create(
        "memory_events",
        "What happened to memories, append-only; a retrieval leaves no row.",
        _name("agent_id", "Whose memory it concerns."),
        _id("memory_id", "The memory it concerns."),
        _id("id", "UUID made by the client, version 7."),
        _name("event_type", "What happened."),
        _text("reason", "Why, in the caller's words."),
        _text("actor", "Who did it."),
        _json("old_values", "Changed fields before."),
        _json("new_values", "Changed fields after."),
        _json("metadata", "The caller's own fields, a JSON object.", "'{}'::jsonb"),
        _moment("occurred_at", "When it happened.", "now()", nullable=False),
        *_moment_checks("memory_events", "occurred_at"),
        key=("agent_id", "memory_id", "id"),
    )
    _index(
        "memory_events",
        "agent_id_occurred_at",
        "agent_id, occurred_at",
        where="event_type <> 'initial'",
    )


def _create_links() -> None:
    _create(
        "memory_links",
        "Links between two memories of the same owner; followed in both directions.",
        _name("agent_id", "Whose memories it links."),
        _id("source_id", "The memory it starts from."),
        _id("target_id", "The memory it leads to."),
        _name("kind", "What the link means: consolidates, or a caller's own word."),
        _share("weight", "How strong it is, 0 to 1.", "1"),
        *_checks(
            "memory_links",
            kind="kind <> '' AND length(kind) <= 200",
            two_memories="source_id <> target_id",
        ),
        *_share_checks("memory_links", "weight"),
        key=("agent_id", "source_id", "target_id", "kind"),
    )
    _index("memory_links", "agent_id_target_id", "agent_id, target_id")


def _create_maintenance_runs() -> None:
    def number(name: str, comment: str) -> sa.Column[int]:
        return _given(name, sa.BigInteger(), comment, "0")

    _create(
        "maintenance_runs",
        "Runs of maintenance; a dry run leaves none.",
        _name("agent_id", "Whose memories were examined; empty: those of every owner."),
        _id("id", "The run, a UUID of version 7."),
        _given("policy", JSONB(), "The retention policy: its name, and its rules."),
        _moment("started_at", "When it began.", nullable=False),
        _given("seconds", sa.Double(), "How long it took.", "0"),
        _given("finished", sa.Boolean(), "Whether it did all tasks.", "false"),
        number("scanned", "Live memories examined."),
        number("archived", "Memories archived."),
        number("deleted", "Memories deleted."),
        number("completed", "Tasks completed because nobody had touched them."),
        number("orphans", "Counters and links of deleted memories, removed."),
        number("events", "Events deleted for their age."),
        number("runs", "Earlier runs deleted for their age."),
        _json("tasks", "How many tasks of each kind it did, and left.", "'{}'"),
        *_moment_checks("maintenance_runs", "started_at"),
        key=("agent_id", "id"),
    )


def _create_rank_indexes() -> None:
    _create(
        "rank_indexes",
        "Rank indexes, one for each large owner; derived, and can be rebuilt.",
        _name("agent_id", "Whose memories it ranks."),
        _name("relation", "The table of positions that is in use, in this schema."),
        _given("space", sa.Integer(), "Version of the space they lie in."),
        _moment("as_of", "The moment that positions were computed for.", nullable=False),
        _moment("built_at", "When its build began.", nullable=False),
        _given("memories", sa.BigInteger(), "Memories in it."),
        _given("at_least", sa.BigInteger(), "Used for searches if it holds this many memories."),
        _given("m", sa.Integer(), "Links of a node of the HNSW graph."),
        _given(
            "ef_construction",
            sa.Integer(),
            "Candidates considered for each node when it was built.",
        ),
        _given("seconds", sa.Double(), "How long the build took."),
        _given(
            "candidates",
            sa.Integer(),
            "Candidates that a search by another profile takes from it at first: the most that a "
            "built-in profile needs.",
            "100",
        ),
        sa.Column(
            "term_memories",
            sa.BigInteger(),
            comment="How many memories the owner had at its build, created by as_of.",
        ),
        _json("common_terms", "Common terms and how many memories had each; others are counted."),
        _share(
            "likeness",
            "Cosine similarity that the nearest memory met by a walk usually has.",
        ),
        _moment(
            "written_until",
            "Memories written or changed from then on are not in it and are scored beside it.",
            nullable=False,
        ),
        _given(
            "candidates_alone",
            sa.Integer(),
            "The number of candidates where one signal has most of the weight.",
            "400",
        ),
        _share("kept", "How much of embeddings the axes described at its build, 0 to 1."),
        _share("kept_since", "The same of memories that were placed in it since."),
        sa.Column(
            "axes",
            VectorColumn("halfvec[]"),
            comment="The directions of embeddings whose coordinates positions have; none: they "
            "have whole embeddings.",
        ),
        _json(
            "candidates_by_profile",
            "The number of candidates for each built-in profile that its build measured.",
            "'{}'::jsonb",
        ),
        *_moment_checks("rank_indexes", "as_of", "built_at", "written_until"),
        key=("agent_id",),
    )


def _create_profiles() -> None:
    _create(
        "profiles",
        "Profiles that pgrecall profiles install stored; their functions are made from these rows.",
        _name("name", "Its name, as recall takes it."),
        sa.Column(
            "definition",
            JSON(),  # keeps the order of signals, in which a score is summed
            nullable=False,
            comment="Its signals with their weights and parameters, as in a file.",
        ),
        key=("name",),
    )


def _create_embedding_model() -> None:
    _create(
        "embedding_model",
        "The model that made the embeddings; no row until an embedder has made one.",
        _given("is_set", sa.Boolean(), "Always true: there is one row at most.", "true"),
        _name("model", "What its embedder calls it."),
        *_checks("embedding_model", is_set="is_set", model="model <> ''"),
        key=("is_set",),
    )


def _create_installed_sql() -> None:
    _create(
        "installed_sql",
        "Files of functions and views that were applied to this schema, by pgrecall migrate up.",
        _name("file", "Its path in the folder sql."),
        _name("level", "Who may call its functions: reader, writer, maintainer or owner."),
        _texts("objects", "The functions and views that it creates."),
        _text("hash", "SHA-256 of its text; NULL: to be applied again."),
        _texts("grants", "Grants to restore after it was dropped and created again."),
        key=("file",),
    )


def _create_granted_roles() -> None:
    _create(
        "granted_roles",
        "Roles with a level from grant_access; objects of later versions are granted to them too.",
        _name("role", "The role."),
        _name("level", "reader, writer or maintainer; each includes those before it."),
        *_checks("granted_roles", level="level IN ('reader', 'writer', 'maintainer')"),
        key=("role",),
    )


def _create_rank_positions() -> None:
    _create(
        "rank_positions",
        "Positions of memories in the rank space, a partition for each rank index; read only by "
        "the partition's name, which is in rank_indexes.",
        _id("memory_id", "The memory."),
        _id("index_id", "The rank index it belongs to."),
        _given(
            "position",
            VectorColumn("halfvec"),
            "Its coordinates in the rank space; as many in all of a partition.",
        ),
        _given("words", ARRAY(sa.BigInteger()), "The keys of its words."),
        _given("bytes", sa.Integer(), "Length of its content in bytes."),
        _given(
            "placed",
            sa.Boolean(),
            "True if it was written after the build: then it is not in the graph, and searches "
            "compare it.",
            "false",
        ),
        key=("memory_id", "index_id"),
        postgresql_partition_by="LIST (index_id)",
    )
    _index(
        "rank_positions",
        "words",
        "words",
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    # A query of the parent bypasses the policies of partitions. Nobody needs one: it sees nothing.
    op.execute("ALTER TABLE rank_positions ENABLE ROW LEVEL SECURITY")


def _create_owner_vectors() -> None:
    _create(
        "owner_vectors",
        "Vectors of whole owners; derived, and can be computed again.",
        _name("agent_id", "Whose memories they are made of."),
        sa.Column(
            "mean",
            ARRAY(REAL()),
            comment="Mean of the embeddings of active memories, each of length 1; NULL: too few.",
        ),
        _given("memories", sa.BigInteger(), "How many memories it was computed of."),
        _moment(
            "latest",
            "The latest created_at of these; a search as of an earlier moment does not use the "
            "mean.",
        ),
        _moment("computed_at", "When it was computed, by the server's clock.", nullable=False),
        *_moment_checks("owner_vectors", "latest", "computed_at"),
        key=("agent_id",),
    )


def _create_entity_names() -> None:
    table = "entity_names"
    _create(
        table,
        "Names by which questions may call the entities and subjects of memories.",
        _name("agent_id", "Whose memories name it."),
        _given(
            "word", sa.Text(collation="C"), "The first word of the name, by which it is looked up."
        ),
        _name("name", "How it is spelled: lower case, no accents, single spaces."),
        _name("kind", "entity or subject of a memory, or alias of one."),
        _name("entity", "The entity or subject, as memories have it."),
        *_checks(
            table,
            kind="kind IN ('entity', 'subject', 'alias')",
            entity="entity <> '' AND length(entity) <= 200",
        ),
        key=("agent_id", "word", "name", "kind", "entity"),
    )
    # One edit leaves either the beginning or the end of a word as it is.
    for end in ("left", "right"):
        _index(table, end, f'agent_id, "{end}"(word, 3)', where="length(word) >= 6")
    _index(table, "entity", "agent_id, kind, entity")


def _create_defaults() -> None:
    reputations = _create(
        "component_reputations",
        "Reputations that trust on write starts from; you may edit them.",
        _name("component", "The component that produces memories; *: any other."),
        _given("reputation", sa.Double(), "How far it is trusted, 0 to 1."),
        *_share_checks("component_reputations", "reputation"),
        key=("component",),
    )
    decays = _create(
        "output_type_defaults",
        "Decay of trust for memories that name none; you may edit it.",
        _name("output_type", "A kind of output; *: any other."),
        _name("trust_curve", "How its trust decays."),
        _given("trust_half_life_hours", sa.Double(), "Half-life of its trust in hours."),
        *_checks(
            "output_type_defaults",
            trust_curve=f"trust_curve {CURVES}",
            trust_half_life_hours=f"trust_half_life_hours {HALF_LIFE}",
        ),
        key=("output_type",),
    )
    tiers = _create(
        "tier_defaults",
        "Expiry by tier for memories that name none; you may edit it.",
        _name("tier", "short, medium or long."),
        sa.Column(
            "expires_after_hours",
            sa.Double(),
            comment="How long after being written a memory of this tier expires; NULL: never.",
        ),
        _flag("is_default", "The tier of a memory that names none."),
        *_checks(
            "tier_defaults",
            tier="tier IN ('short', 'medium', 'long')",
            expires_after_hours="expires_after_hours BETWEEN '1e-3'::float8 AND '1e7'::float8",
        ),
        key=("tier",),
    )
    op.bulk_insert(
        reputations,
        [{"component": name, "reputation": value} for name, value in REPUTATIONS.items()],
    )
    op.bulk_insert(
        decays,
        [
            {"output_type": name, "trust_curve": curve, "trust_half_life_hours": hours}
            for name, (curve, hours) in DECAYS.items()
        ],
    )
    op.bulk_insert(
        tiers,
        [
            {"tier": name, "expires_after_hours": hours, "is_default": default}
            for name, (hours, default) in TIERS.items()
        ],
    )


def _create_service_keys() -> None:
    table = "service_keys"
    _create(
        table,
        "Keys of the HTTP service, from pgrecall keys; their secrets are not stored.",
        _name("id", "What the key is called; a part of its token."),
        _name("name", "What it is for, in the words of whoever created it."),
        _given("hash", sa.LargeBinary(), "SHA-256 of its secret."),
        _texts("owners", "Whose memories it is for; a team is team:<id>."),
        _name("scope", "read, write or maintain; each includes those before it."),
        _moment("created_at", "When it was created.", "now()", nullable=False),
        _moment("revoked_at", "When it was revoked; NULL: in use."),
        *_checks(
            table,
            name="name <> '' AND length(name) <= 200",
            hash="octet_length(hash) = 32",
            owners="cardinality(owners) > 0 AND array_position(owners, NULL) IS NULL",
            scope="scope IN ('read', 'write', 'maintain')",
        ),
        *_moment_checks(table, "created_at", "revoked_at"),
        key=("id",),
    )


def _create(
    table: str, comment: str, *parts: Any, key: tuple[str, ...], **options: Any
) -> sa.Table:
    created = op.create_table(
        table,
        *parts,
        sa.PrimaryKeyConstraint(*key, name=op.f(f"pk_{table}")),
        schema=settings().schema,
        comment=comment,
        **options,
    )
    if key[0] == "agent_id" and len(key) > 1 and table != "entity_names":
        # The planner assumes 200 rows for an owner that statistics do not name. By statistics of a
        # young table it would assume one, and compare all of an owner's rows with each other. Fewer
        # counters than memories, so that a search hashes the counters. Names are looked up one by one.
        share = 0.01 if table == "memory_usage" else 0.005
        op.execute(
            f'ALTER TABLE "{settings().schema}".{table} '
            f"ALTER COLUMN agent_id SET (n_distinct = -{share})"
        )
    return created


def _index(table: str, name: str, parts: str, where: str | None = None, **options: Any) -> None:
    op.create_index(
        op.f(f"ix_{table}_{name}"),
        table,
        [sa.text(parts)],
        schema=settings().schema,
        postgresql_where=None if where is None else sa.text(where),
        **options,
    )


def _checks(table: str, **conditions: str) -> list[sa.CheckConstraint]:
    return [
        sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))
        for name, condition in conditions.items()
    ]


def _share_checks(table: str, *columns: str) -> list[sa.CheckConstraint]:
    rule = "{0} = 0 OR {0} BETWEEN '1e-100'::float8 AND 1"
    return _checks(table, **{name: rule.format(name) for name in columns})


def _moment_checks(table: str, *columns: str) -> list[sa.CheckConstraint]:
    rule = "{} BETWEEN '0001-01-02 00:00:00+00:00' AND '9999-12-30 00:00:00+00:00'"
    return _checks(table, **{name: rule.format(name) for name in columns})


def _given(name: str, type_: Any, comment: str, default: str | None = None) -> sa.Column[Any]:
    server_default = None if default is None else sa.text(default)
    return sa.Column(name, type_, nullable=False, server_default=server_default, comment=comment)


def _id(name: str, comment: str) -> sa.Column[Any]:
    return _given(name, sa.Uuid(), comment)


def _name(name: str, comment: str, default: str | None = None) -> sa.Column[Any]:
    return _given(name, sa.Text(), comment, None if default is None else f"'{default}'")


def _text(name: str, comment: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), comment=comment)


def _texts(name: str, comment: str) -> sa.Column[Any]:
    return _given(name, ARRAY(sa.Text()), comment, "'{}'::text[]")


def _flag(name: str, comment: str) -> sa.Column[Any]:
    return _given(name, sa.Boolean(), comment, "false")


def _count(name: str, comment: str) -> sa.Column[Any]:
    return _given(name, sa.Integer(), comment, "0")


def _share(name: str, comment: str, default: str | None = None) -> sa.Column[Any]:
    if default is not None:
        return _given(name, sa.Double(), comment, default)
    return sa.Column(name, sa.Double(), comment=comment)


def _json(name: str, comment: str, default: str | None = None) -> sa.Column[Any]:
    if default is not None:
        return _given(name, JSONB(), comment, default)
    return sa.Column(name, JSONB(), comment=comment)


def _moment(
    name: str, comment: str, default: str | None = None, *, nullable: bool = True
) -> sa.Column[Any]:
    server_default = None if default is None else sa.text(default)
    return sa.Column(
        name,
        sa.DateTime(timezone=True),
        nullable=nullable,
        server_default=server_default,
        comment=comment,
    )
