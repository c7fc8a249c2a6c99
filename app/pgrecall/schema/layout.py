"""What one database holds: its revision and the type of its embeddings."""

from __future__ import annotations

from dataclasses import dataclass

from pgrecall.core.vectors import EmbeddingType, StoredVector, VectorLike, stored_vector


@dataclass(frozen=True, slots=True)
class Layout:
    """Read once per engine from the catalogue, which is the only place that decides it."""

    revision: str
    embedding_type: EmbeddingType
    embedding_oid: int
    dimensions: int
    extension_schema: str
    """Where pgvector is installed."""

    def vector(self, values: VectorLike) -> StoredVector:
        """`values` as this database stores them; raises InvalidVector."""
        return stored_vector(values, dimensions=self.dimensions, embedding_type=self.embedding_type)
