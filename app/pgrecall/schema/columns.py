"""Shorthands for the kinds of column that the tables use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Integer,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY


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


def count_column(name: str, comment: str) -> Column[Any]:
    return Column(name, Integer, nullable=False, server_default=text("0"), comment=comment)


def total_column(name: str, comment: str, *, default: str | None = None) -> Column[Any]:
    server_default = None if default is None else text(default)
    return Column(name, BigInteger, nullable=False, server_default=server_default, comment=comment)


def moment_column(
    name: str, comment: str, *, default: Any = None, nullable: bool = True
) -> Column[Any]:
    return Column(
        name, DateTime(timezone=True), nullable=nullable, server_default=default, comment=comment
    )


def check(name: str, condition: str) -> CheckConstraint:
    return CheckConstraint(condition, name=name)


def one_of(column: str, values: Sequence[str]) -> str:
    return f"{column} IN ({', '.join(repr(value) for value in values)})"
