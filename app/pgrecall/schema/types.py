"""The column type of embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Dialect
from sqlalchemy.types import UserDefinedType

from pgrecall.embedding import StoredVector, Vector, as_text


class Embedding(UserDefinedType[Any]):
    """`vector(n)` or `halfvec(n)`, whichever the database was created with.

    Values are bound as untyped text, which PostgreSQL reads as the type of the column or function
    argument they meet: the extension's schema need not be on the caller's search_path.
    """

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"

    def bind_processor(self, dialect: Dialect) -> Callable[[StoredVector | None], str | None]:
        return lambda value: None if value is None else as_text(value.to_list())

    def result_processor(
        self, dialect: Dialect, coltype: object
    ) -> Callable[[str | None], list[float] | None]:
        return lambda value: None if value is None else Vector.from_text(value).to_list()
