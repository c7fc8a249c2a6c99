"""JSON objects made of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Text, func, literal_column
from sqlalchemy.dialects.postgresql import JSONB


def json_object(values: Mapping[str, ColumnElement[Any]]) -> ColumnElement[Any]:
    """A JSON object with these fields; the names are ours."""
    pairs: list[Any] = []
    for name, value in values.items():
        pairs += [literal_column(f"'{name}'", Text()), value]
    return func.jsonb_build_object(*pairs, type_=JSONB())
