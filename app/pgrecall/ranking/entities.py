"""Finds known entities in the text of a query."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.core.limits import MAX_NAME_LENGTH, MAX_QUERY_ENTITIES
from pgrecall.core.steps import Run
from pgrecall.ranking.composing import reads
from pgrecall.schema import Tables


def known_entities(tables: Tables, owners: Sequence[str], texts: Sequence[str]) -> Run:
    """Entities of the owners' memories that occur in texts as whole words, longest first.

    Columns: number, of the text from 1, and entities.
    """
    return reads(
        tables,
        "entities",
        owners=list(owners),
        texts=list(texts),
        most=MAX_QUERY_ENTITIES,
        longest=MAX_NAME_LENGTH,
    )
