"""The revision of the schema that this version of the code needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

REVISION: Final = "0001"
EMBEDDING_INDEX: Final = "embedding_index"
"""The optional revision after 0001. If it is applied, Alembic's table names it, not 0001."""


def revision_of(rows: Iterable[str]) -> str | None:
    """The revision of the tables, given the rows of Alembic's table; None if there are none."""
    revisions = set(rows)
    tables = revisions - {EMBEDDING_INDEX}
    return max(tables) if tables else "0001" if revisions else None
