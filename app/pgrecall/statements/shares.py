"""Shares: numbers in [0, 1] as they can be stored."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, case, literal_column

from pgrecall.signals import SMALLEST_SHARE


def flushed(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """A share, with what is too small to be computed with as 0."""
    return case((value < literal_column(f"{SMALLEST_SHARE:g}::float8"), 0.0), else_=value)
