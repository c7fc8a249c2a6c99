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
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR

from pgrecall.core.embedding_type import Embedding
from pgrecall.schema.fields import Field
from pgrecall.schema.kinds import EMBEDDING, Kind

_TYPES: Mapping[str, Any] = {
    "boolean": Boolean,
    "bytea": LargeBinary,
    EMBEDDING.type: Embedding,
    "float8": Double,
    "integer": Integer,
    "jsonb": JSONB,
    "text": Text,
    "text[]": ARRAY(Text),
    "timestamptz": DateTime(timezone=True),
    "tsvector": TSVECTOR,
    "uuid": Uuid,
}


def name_column(name: str, comment: str, *, default: str | None = None) -> Column[Any]:
    server_default = None if default is None else text(f"'{default}'")
    return Column(name, Text, nullable=False, server_default=server_default, comment=comment)


def text_column(name: str, comment: str, *, nullable: bool = True) -> Column[Any]:
    return Column(name, Text, nullable=nullable, comment=comment)


def texts_column(name: str, comment: str) -> Column[Any]:
    return Column(
        name, ARRAY(Text), nullable=False, server_default=text("'{}'::text[]"), comment=comment
    )


def share_column(name: str, comment: str, *, default: str | None = None) -> Column[Any]:
    return Column(
        name,
        Double,
        nullable=default is None,
        server_default=None if default is None else text(default),
        comment=comment,
    )


def flag_column(name: str, comment: str) -> Column[Any]:
    return Column(name, Boolean, nullable=False, server_default=text("false"), comment=comment)


def total_column(name: str, comment: str, *, default: str | None = None) -> Column[Any]:
    server_default = None if default is None else text(default)
    return Column(name, BigInteger, nullable=False, server_default=server_default, comment=comment)


def moment_column(
    name: str, comment: str, *, default: Any = None, nullable: bool = True
) -> Column[Any]:
    return Column(
        name, DateTime(timezone=True), nullable=nullable, server_default=default, comment=comment
    )


def check(name: str, condition: str | Kind) -> CheckConstraint:
    """A CHECK constraint: a condition, or that of a kind of field for the column of this name."""
    if isinstance(condition, Kind):
        condition = (condition.condition or "").replace("{}", name)
    return CheckConstraint(condition, name=name)


def field_column(field: Field, schema: str | None = None) -> Column[Any]:
    """The column of a memory's field."""
    default: Any = field.standard and text(field.standard)
    if field.computed:
        default = Computed(f'"{schema}".{field.computed}', persisted=True)
    made: Column[Any] = Column(
        field.name,
        _TYPES[field.kind.type],
        *([default] if field.computed else ()),
        nullable=field.is_null,
        server_default=None if field.computed else default,
        comment=field.comment,
    )
    return made
