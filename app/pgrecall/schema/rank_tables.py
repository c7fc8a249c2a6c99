"""The tables of rank indexes."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from pgrecall.core.embedding_type import Embedding
from pgrecall.schema.columns import (
    check,
    moment_column,
    name_column,
    total_column,
)
from pgrecall.schema.kinds import MOMENT


def rank_indexes_table(metadata: MetaData) -> Table:
    return Table(
        "rank_indexes",
        metadata,
        name_column("agent_id", "Whose memories it ranks."),
        name_column("relation", "The table of positions that is in use, in this schema."),
        Column("space", Integer, nullable=False, comment="Version of the space they lie in."),
        moment_column("as_of", "The moment that positions were computed for.", nullable=False),
        moment_column("built_at", "When its build began.", nullable=False),
        total_column("memories", "Memories in it."),
        total_column("at_least", "Used for searches if it holds this many memories."),
        Column("m", Integer, nullable=False, comment="Links of a node of the HNSW graph."),
        Column(
            "ef_construction",
            Integer,
            nullable=False,
            comment="Candidates considered for each node when it was built.",
        ),
        Column("seconds", Double, nullable=False, comment="How long the build took."),
        Column(
            "candidates",
            Integer,
            nullable=False,
            server_default=text("100"),
            comment="Candidates that a search takes from it at first, measured by its build.",
        ),
        Column(
            "term_memories",
            BigInteger,
            comment="How many memories the owner had at its build, created by as_of.",
        ),
        Column(
            "common_terms",
            JSONB,
            comment="Common terms and how many memories had each; others are counted.",
        ),
        Column(
            "likeness",
            Double,
            comment="Cosine similarity that the nearest memory met by a walk usually has.",
        ),
        moment_column(
            "written_until",
            "Memories written or changed from then on are not in it and are scored beside it.",
            nullable=False,
        ),
        PrimaryKeyConstraint("agent_id"),
        check("as_of", MOMENT),
        check("built_at", MOMENT),
        check("written_until", MOMENT),
        comment="Rank indexes, one for each large owner; derived, and can be rebuilt.",
    )


def rank_positions_table(metadata: MetaData) -> Table:
    """Partitioned by rank index. SQL functions create the partitions, and searches name them."""
    positions = Table(
        "rank_positions",
        metadata,
        Column("memory_id", Uuid, nullable=False, comment="The memory."),
        Column("index_id", Uuid, nullable=False, comment="The rank index it belongs to."),
        Column("position", Embedding, nullable=False, comment="Its coordinates in the rank space."),
        Column("words", ARRAY(BigInteger), nullable=False, comment="The keys of its words."),
        Column("bytes", Integer, nullable=False, comment="Length of its content in bytes."),
        PrimaryKeyConstraint("memory_id", "index_id"),
        comment="Positions of memories in the rank space, a partition for each rank index; read "
        "only by the partition's name, which is in rank_indexes.",
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
