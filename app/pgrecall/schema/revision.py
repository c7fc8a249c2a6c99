"""The migration this version of the code was written against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

REVISION: Final = "0001"
EMBEDDING_INDEX: Final = "embedding_index"
"""The optional revision beside 0001; Alembic's table then has it in the place of 0001."""


def revision_of(rows: Iterable[str]) -> str | None:
    """The revision of the tables, from the rows of Alembic's table; None where there are none."""
    found = set(rows)
    tables = found - {EMBEDDING_INDEX}
    return max(tables) if tables else "0001" if found else None
