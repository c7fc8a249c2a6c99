"""Tables of what is known of an owner's memories as a whole; derived, and can be computed again."""

from __future__ import annotations

from sqlalchemy import Column, Index, MetaData, PrimaryKeyConstraint, Table, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, REAL

from pgrecall.core.limits import NAME_KINDS
from pgrecall.schema.columns import column, required
from pgrecall.schema.kinds import BIGINT, MOMENT, NAME, TEXT, one_of


def owner_vectors_table(metadata: MetaData) -> Table:
    return Table(
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


def entity_names_table(metadata: MetaData) -> Table:
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
    return names
