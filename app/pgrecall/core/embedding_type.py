"""The column type of embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Dialect
from sqlalchemy.types import UserDefinedType

from pgrecall.core.vectors import HalfVector, StoredVector, Vector, as_text, components_of


class Embedding(UserDefinedType[Any]):
    """`vector(n)` or `halfvec(n)`, depending on how the schema was created.

    Values are bound as untyped text. PostgreSQL converts it to the type of the column or function
    argument, so the extension's schema need not be on the caller's search_path.
    """

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"

    def bind_processor(self, dialect: Dialect) -> Callable[[StoredVector | None], str | None]:
        return lambda value: None if value is None else as_text(value.to_list())

    def result_processor(
        self, dialect: Dialect, coltype: object
    ) -> Callable[[Any], list[float] | None]:
        return read_embedding


def read_embedding(value: Any) -> list[float] | None:
    """Reads text, binary, or what pgvector's loaders return if the caller registered them."""
    if value is None:
        return None
    if isinstance(value, str):
        return Vector.from_text(value).to_list()
    if isinstance(value, bytes):
        of = Vector if len(value) == 4 + 4 * int.from_bytes(value[:2], "big") else HalfVector
        return of.from_binary(value).to_list()
    return components_of(value)
