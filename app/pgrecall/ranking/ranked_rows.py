"""Memories that were ranked owner by owner, as parameters of the statement that continues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Double, Select, Text, Uuid, select

from pgrecall.ranking.conditions import rows_of_arrays
from pgrecall.ranking.search_parameters import Shape

KEYWORD, COVERAGE = "keyword", "coverage"


def ranked_rows(shape: Shape) -> Select[Any]:
    """These rows, with the columns of `ranked`. Parameters: those of `parameters`."""
    columns = {name: (f"ranked_{name}", type_) for name, type_ in _columns(shape).items()}
    return select(rows_of_arrays("ranked_rows", **columns))


def parameters(shape: Shape, rows: Sequence[Any]) -> dict[str, Any]:
    """The values to bind for these rows."""
    return {f"ranked_{name}": [getattr(row, name) for row in rows] for name in _columns(shape)}


def _columns(shape: Shape) -> dict[str, Any]:
    columns: dict[str, Any] = {"owner_id": Text(), "id": Uuid(), "score": Double()}
    if shape.has_text:
        columns[KEYWORD] = Double()
        if shape.shows_relevance:
            columns[COVERAGE] = Double()
    return columns
