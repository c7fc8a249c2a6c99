"""Shorthands for the kinds of column that the tables use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB, TSVECTOR

from pgrecall.core.embedding_type import Embedding
from pgrecall.schema.fields import Field
from pgrecall.schema.kinds import EMBEDDING, Kind

_TYPES: Mapping[str, Any] = {
    "bigint": BigInteger,
    "boolean": Boolean,
    "bytea": LargeBinary,
    EMBEDDING.type: Embedding,
    "float8": Double,
    "integer": Integer,
    "json": JSON,
    "jsonb": JSONB,
    "text": Text,
    "text[]": ARRAY(Text),
    "timestamptz": DateTime(timezone=True),
    "tsvector": TSVECTOR,
    "uuid": Uuid,
}


def field_type(field: Field) -> Any:
    """The type of a field, as SQLAlchemy has it."""
    return _TYPES[field.kind.type]


def field_column(field: Field, schema: str | None = None) -> Column[Any]:
    """The column of a field, with its check."""
    kind, default = field.kind, field.standard
    parts: list[Any] = []
    if kind.condition is not None:
        parts.append(check(field.name, kind.condition.replace("{}", field.name)))
    if field.computed is not None:
        parts.append(Computed(f'"{schema}".{field.computed}', persisted=True))
    made: Column[Any] = Column(
        field.name,
        _TYPES[kind.type],
        *parts,
        nullable=field.is_null,
        server_default=None if default is None else text(default),
        comment=field.comment,
    )
    return made


def column(name: str, kind: Kind, comment: str, default: str | None = None) -> Column[Any]:
    """A column of another table than those of memories; it may be NULL if it has no default."""
    return field_column(Field(name, kind, comment, default))


def required(name: str, kind: Kind, comment: str) -> Column[Any]:
    """A column that is never NULL."""
    return field_column(Field(name, kind, comment, null=False))


def check(name: str, condition: str) -> CheckConstraint:
    return CheckConstraint(condition, name=name)
