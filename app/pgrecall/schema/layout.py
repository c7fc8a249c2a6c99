"""The layout of one database: the type of its embeddings and the schema of pgvector."""

from __future__ import annotations

from dataclasses import dataclass

from pgrecall.core.vectors import EmbeddingType, StoredVector, VectorLike, stored_vector


@dataclass(frozen=True, slots=True)
class Layout:
    """Read from the catalogue once per engine."""

    revision: str
    embedding_type: EmbeddingType
    embedding_oid: int
    dimensions: int
    extension_schema: str
    """Where pgvector is installed."""
    model: str | None = None
    """The model that makes the embeddings of this schema; None until an embedder has made one."""
    distributed: bool = False
    """True if Citus distributes the tables over several nodes."""
    compiles: bool = False
    """True if the server compiles (JIT) cheaper statements than PostgreSQL does by default."""

    def vector(self, values: VectorLike) -> StoredVector:
        """Converts a vector to the form this database stores; raises InvalidVector."""
        return stored_vector(values, dimensions=self.dimensions, embedding_type=self.embedding_type)
