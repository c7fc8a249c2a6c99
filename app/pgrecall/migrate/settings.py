"""The settings of a schema."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_name, require_schema_name
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import InputError
from pgrecall.schema import DEFAULT_SCHEMA

DEFAULT_DIMENSIONS = 256
"""The dimensions of the local embedder."""
DEFAULT_LANGUAGE = "english"
DEFAULT_EXTENSION_SCHEMA = "public"
SETTINGS, TARGET = "pgrecall_settings", "connection"
"""Keys of the `config.attributes` of a run; the second one is Alembic's convention."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that a schema is created with. Later migrations cannot change them, but for the
    index on embeddings.

    Raises InputError for a name or number of dimensions that cannot be used.
    """

    schema: str = DEFAULT_SCHEMA
    dimensions: int = DEFAULT_DIMENSIONS
    embedding_type: EmbeddingType = EmbeddingType.VECTOR
    language: str = DEFAULT_LANGUAGE
    """The text search configuration for words."""
    extension_schema: str = DEFAULT_EXTENSION_SCHEMA
    """The schema of pgvector; online, it is read from the database."""
    embedding_index: bool | None = None
    """True to have an index on embeddings; None: as it was, and none in a new schema."""

    def __post_init__(self) -> None:
        require_schema_name(self.schema)
        require_language(self.language)
        require_name("extension_schema", self.extension_schema)
        limit = self.embedding_type.max_dimensions
        if isinstance(self.dimensions, bool) or not isinstance(self.dimensions, int):
            raise InputError(f"dimensions must be a whole number, got {shortened(self.dimensions)}")
        if not 1 <= self.dimensions <= limit:
            raise InputError(
                f"{self.embedding_type} embeddings may have 1 to {limit} dimensions (a row must "
                f"fit one page), got {shortened(self.dimensions)}"
                + ("; halfvec allows more" if self.embedding_type is EmbeddingType.VECTOR else "")
            )

    @property
    def column_type(self) -> str:
        return f"{self.embedding_type}({self.dimensions})"


def require_language(name: object) -> None:
    """Raises InputError for a name that would have to be quoted."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
        raise InputError(
            "the name of a text language has lower-case letters, digits and _ only, such as "
            f"english or simple; got {shortened(name)}"
        )


def embedding_type(name: object) -> EmbeddingType:
    """The embedding type of this name; raises InputError."""
    if not isinstance(name, str) or name not in tuple(EmbeddingType):
        raise InputError(
            f"unknown embedding type {shortened(name)}; the types are {', '.join(EmbeddingType)}"
        )
    return EmbeddingType(name)
