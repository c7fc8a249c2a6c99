"""Tables with settings of the whole schema: defaults, profiles, installed SQL and roles."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.core.limits import (
    MAX_NAME_LENGTH,
    TIERS,
    TRUST_CURVES,
)
from pgrecall.schema.columns import (
    check,
    flag_column,
    moment_column,
    name_column,
    text_column,
    texts_column,
)
from pgrecall.schema.kinds import MOMENT, SHARE, one_of


def component_reputations_table(metadata: MetaData) -> Table:
    return Table(
        "component_reputations",
        metadata,
        name_column("component", "The component that produces memories; *: any other."),
        Column("reputation", Double, nullable=False, comment="How far it is trusted, 0 to 1."),
        PrimaryKeyConstraint("component"),
        check("reputation", SHARE),
        comment="Reputations that trust on write starts from; you may edit them.",
    )


def output_type_defaults_table(metadata: MetaData) -> Table:
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
        check("trust_curve", one_of(TRUST_CURVES)),
        check(
            "trust_half_life_hours",
            "trust_half_life_hours BETWEEN '1e-3'::float8 AND '1e9'::float8",
        ),
        comment="Decay of trust for memories that name none; you may edit it.",
    )


def tier_defaults_table(metadata: MetaData) -> Table:
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
        check("tier", one_of(TIERS)),
        check(
            "expires_after_hours", "expires_after_hours BETWEEN '1e-3'::float8 AND '1e7'::float8"
        ),
        comment="Expiry by tier for memories that name none; you may edit it.",
    )


def profiles_table(metadata: MetaData) -> Table:
    return Table(
        "profiles",
        metadata,
        name_column("name", "Its name, as recall takes it."),
        Column(
            "definition",
            JSONB,
            nullable=False,
            comment="Its signals with their weights and parameters, as in a file.",
        ),
        PrimaryKeyConstraint("name"),
        comment="Profiles that pgrecall profiles install stored; their functions are made from "
        "these rows.",
    )


def installed_sql_table(metadata: MetaData) -> Table:
    return Table(
        "installed_sql",
        metadata,
        name_column("file", "Its path in the folder sql."),
        name_column("level", "Who may call its functions: reader, writer, maintainer or owner."),
        texts_column("objects", "The functions and views that it creates."),
        text_column("hash", "SHA-256 of its text; NULL: to be applied again."),
        texts_column("grants", "Grants to restore after it was dropped and created again."),
        PrimaryKeyConstraint("file"),
        comment="Files of functions and views that were applied to this schema, by pgrecall "
        "migrate up.",
    )


def embedding_model_table(metadata: MetaData) -> Table:
    return Table(
        "embedding_model",
        metadata,
        Column(
            "is_set",
            Boolean,
            nullable=False,
            server_default=text("true"),
            comment="Always true: there is one row at most.",
        ),
        name_column("model", "What its embedder calls it."),
        PrimaryKeyConstraint("is_set"),
        check("is_set", "is_set"),
        check("model", "model <> ''"),
        comment="The model that made the embeddings; no row until an embedder has made one.",
    )


def granted_roles_table(metadata: MetaData) -> Table:
    return Table(
        "granted_roles",
        metadata,
        name_column("role", "The role."),
        name_column("level", "reader, writer or maintainer; each includes those before it."),
        PrimaryKeyConstraint("role"),
        check("level", one_of(("reader", "writer", "maintainer"))),
        comment="Roles with a level from grant_access; objects of later versions are granted to "
        "them too.",
    )


def service_keys_table(metadata: MetaData) -> Table:
    return Table(
        "service_keys",
        metadata,
        name_column("id", "What the key is called; a part of its token."),
        name_column("name", "What it is for, in the words of whoever created it."),
        Column("hash", LargeBinary, nullable=False, comment="SHA-256 of its secret."),
        texts_column("owners", "Whose memories it is for; a team is team:<id>."),
        name_column("scope", "read, write or maintain; each includes those before it."),
        moment_column("created_at", "When it was created.", default=text("now()"), nullable=False),
        moment_column("revoked_at", "When it was revoked; NULL: in use."),
        PrimaryKeyConstraint("id"),
        check("name", f"name <> '' AND length(name) <= {MAX_NAME_LENGTH}"),
        check("hash", "octet_length(hash) = 32"),
        check("owners", "cardinality(owners) > 0 AND array_position(owners, NULL) IS NULL"),
        check("scope", one_of(("read", "write", "maintain"))),
        check("created_at", MOMENT),
        check("revoked_at", MOMENT),
        comment="Keys of the HTTP service, from pgrecall keys; their secrets are not stored.",
    )
