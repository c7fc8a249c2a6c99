"""The tables of rank indexes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.core.embedding_type import Embedding
from pgrecall.schema.columns import column, required
from pgrecall.schema.kinds import ANSWER, BIGINT, DOUBLE, ID, INTEGER, JSON, MOMENT, TEXT


class Axes(Embedding):
    """`halfvec[]`, which only SQL functions read."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "halfvec[]"


def add_rank_tables(metadata: MetaData) -> None:
    """The tables of rank indexes."""
    Table(
        "rank_indexes",
        metadata,
        required("agent_id", TEXT, "Whose memories it ranks."),
        required("relation", TEXT, "The table of positions that is in use, in this schema."),
        required("space", INTEGER, "Version of the space they lie in."),
        required("as_of", MOMENT, "The moment that positions were computed for."),
        required("built_at", MOMENT, "When its build began."),
        required("memories", BIGINT, "Memories in it."),
        required("at_least", BIGINT, "Used for searches if it holds this many memories."),
        required("m", INTEGER, "Links of a node of the HNSW graph."),
        required(
            "ef_construction", INTEGER, "Candidates considered for each node when it was built."
        ),
        required("seconds", DOUBLE, "How long the build took."),
        column(
            "candidates",
            INTEGER,
            "Candidates that a search by another profile takes from it at first: the most that a "
            "built-in profile needs.",
            "100",
        ),
        column(
            "term_memories",
            BIGINT,
            "How many memories the owner had at its build, created by as_of.",
        ),
        column(
            "common_terms", JSON, "Common terms and how many memories had each; others are counted."
        ),
        column(
            "likeness",
            DOUBLE,
            "Cosine similarity that the nearest memory met by a walk usually has.",
        ),
        required(
            "written_until",
            MOMENT,
            "Memories written or changed from then on are not in it and are scored beside it.",
        ),
        column(
            "candidates_alone",
            INTEGER,
            "The number of candidates where one signal has most of the weight.",
            "400",
        ),
        column("kept", DOUBLE, "How much of embeddings the axes described at its build, 0 to 1."),
        column("kept_since", DOUBLE, "The same of memories that were placed in it since."),
        Column(
            "axes",
            Axes(),
            comment="The directions of embeddings whose coordinates positions have; none: they "
            "have whole embeddings.",
        ),
        column(
            "candidates_by_profile",
            JSON,
            "The number of candidates for each built-in profile that its build measured.",
            "'{}'::jsonb",
        ),
        PrimaryKeyConstraint("agent_id"),
        comment="Rank indexes, one for each large owner; derived, and can be rebuilt.",
    )
    # Partitioned by rank index. SQL functions create the partitions, and searches name them.
    positions = Table(
        "rank_positions",
        metadata,
        required("memory_id", ID, "The memory."),
        required("index_id", ID, "The rank index it belongs to."),
        Column(
            "position",
            Embedding,
            nullable=False,
            comment="Its coordinates in the rank space; as many in all of a partition.",
        ),
        Column("words", ARRAY(BigInteger), nullable=False, comment="The keys of its words."),
        required("bytes", INTEGER, "Length of its content in bytes."),
        column(
            "placed",
            ANSWER,
            "True if it was written after the build: then it is not in the graph, and searches "
            "compare it.",
            "false",
        ),
        PrimaryKeyConstraint("memory_id", "index_id"),
        comment="Positions of memories in the rank space, a partition for each rank index; read "
        "only by the partition's name, which is in rank_indexes.",
        postgresql_partition_by="LIST (index_id)",
    )
    Index(
        "ix_rank_positions_words",
        positions.c.words,
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
