"""Tables with settings of the whole schema, and those that are derived for owners."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, REAL

from pgrecall.core.limits import (
    NAME_KINDS,
    TIERS,
    TRUST_CURVES,
)
from pgrecall.schema.columns import check, column, required
from pgrecall.schema.kinds import (
    ANSWER,
    BIGINT,
    BYTES,
    DOUBLE,
    FLAG,
    HOURS,
    MOMENT,
    NAME,
    SHARE,
    TEXT,
    TEXT_OF_JSON,
    TEXTS,
    one_of,
)


def add_settings_tables(metadata: MetaData) -> None:
    """Tables of what the whole schema keeps, and of what is derived for owners."""
    Table(
        "component_reputations",
        metadata,
        required("component", TEXT, "The component that produces memories; *: any other."),
        required("reputation", SHARE, "How far it is trusted, 0 to 1."),
        PrimaryKeyConstraint("component"),
        comment="Reputations that trust on write starts from; you may edit them.",
    )
    Table(
        "output_type_defaults",
        metadata,
        required("output_type", TEXT, "A kind of output; *: any other."),
        required("trust_curve", one_of(TRUST_CURVES), "How its trust decays."),
        required("trust_half_life_hours", HOURS, "Half-life of its trust in hours."),
        PrimaryKeyConstraint("output_type"),
        comment="Decay of trust for memories that name none; you may edit it.",
    )
    Table(
        "tier_defaults",
        metadata,
        required("tier", one_of(TIERS), "short, medium or long."),
        column(
            "expires_after_hours",
            DOUBLE,
            "How long after being written a memory of this tier expires; NULL: never.",
        ),
        column("is_default", FLAG, "The tier of a memory that names none."),
        PrimaryKeyConstraint("tier"),
        check(
            "expires_after_hours", "expires_after_hours BETWEEN '1e-3'::float8 AND '1e7'::float8"
        ),
        comment="Expiry by tier for memories that name none; you may edit it.",
    )
    Table(
        "profiles",
        metadata,
        required("name", TEXT, "Its name, as recall takes it."),
        required(
            "definition",
            TEXT_OF_JSON,
            "Its signals with their weights and parameters, as in a file.",
        ),
        PrimaryKeyConstraint("name"),
        comment="Profiles that pgrecall profiles install stored; their functions are made from "
        "these rows.",
    )
    Table(
        "installed_sql",
        metadata,
        required("file", TEXT, "Its path in the folder sql."),
        required("level", TEXT, "Who may call its functions: reader, writer, maintainer or owner."),
        column("objects", TEXTS, "The functions and views that it creates."),
        column("hash", TEXT, "SHA-256 of its text; NULL: to be applied again."),
        column("grants", TEXTS, "Grants to restore after it was dropped and created again."),
        PrimaryKeyConstraint("file"),
        comment="Files of functions and views that were applied to this schema, by pgrecall "
        "migrate up.",
    )
    Table(
        "embedding_model",
        metadata,
        column("is_set", ANSWER, "Always true: there is one row at most.", "true"),
        required("model", TEXT, "What its embedder calls it."),
        PrimaryKeyConstraint("is_set"),
        check("is_set", "is_set"),
        check("model", "model <> ''"),
        comment="The model that made the embeddings; no row until an embedder has made one.",
    )
    Table(
        "granted_roles",
        metadata,
        required("role", TEXT, "The role."),
        required(
            "level",
            one_of(("reader", "writer", "maintainer")),
            "reader, writer or maintainer; each includes those before it.",
        ),
        PrimaryKeyConstraint("role"),
        comment="Roles with a level from grant_access; objects of later versions are granted to "
        "them too.",
    )
    Table(
        "service_keys",
        metadata,
        required("id", TEXT, "What the key is called; a part of its token."),
        required("name", NAME, "What it is for, in the words of whoever created it."),
        required("hash", BYTES, "SHA-256 of its secret."),
        column("owners", TEXTS, "Whose memories it is for; a team is team:<id>."),
        required(
            "scope",
            one_of(("read", "write", "maintain")),
            "read, write or maintain; each includes those before it.",
        ),
        column("created_at", MOMENT, "When it was created.", "now()"),
        column("revoked_at", MOMENT, "When it was revoked; NULL: in use."),
        PrimaryKeyConstraint("id"),
        check("hash", "octet_length(hash) = 32"),
        check("owners", "cardinality(owners) > 0 AND array_position(owners, NULL) IS NULL"),
        comment="Keys of the HTTP service, from pgrecall keys; their secrets are not stored.",
    )
    Table(
        "owner_vectors",
        metadata,
        required("agent_id", TEXT, "Whose memories they are made of."),
        Column(
            "mean",
            ARRAY(REAL),
            comment="Mean of the embeddings of active memories, each of length 1; NULL: too few.",
        ),
        required("memories", BIGINT, "How many memories it was computed of."),
        column(
            "latest",
            MOMENT,
            "The latest created_at of these; a search as of an earlier moment does not use "
            "the mean.",
        ),
        required("computed_at", MOMENT, "When it was computed, by the server's clock."),
        PrimaryKeyConstraint("agent_id"),
        comment="Vectors of whole owners; derived, and can be computed again.",
    )
    names = Table(
        "entity_names",
        metadata,
        required("agent_id", TEXT, "Whose memories name it."),
        Column(
            "word",
            Text(collation="C"),
            nullable=False,
            comment="The first word of the name, by which it is looked up.",
        ),
        required("name", TEXT, "How it is spelled: lower case, no accents, single spaces."),
        required("kind", one_of(NAME_KINDS), "entity or subject of a memory, or alias of one."),
        required("entity", NAME, "The entity or subject, as memories have it."),
        PrimaryKeyConstraint("agent_id", "word", "name", "kind", "entity"),
        comment="Names by which questions may call the entities and subjects of memories.",
    )
    for end in ("left", "right"):
        # One edit leaves either the beginning or the end of a word as it is.
        Index(
            f"ix_entity_names_{end}",
            names.c.agent_id,
            text(f'"{end}"(word, 3)'),
            postgresql_where=text("length(word) >= 6"),
        )
    Index("ix_entity_names_entity", names.c.agent_id, names.c.kind, names.c.entity)
