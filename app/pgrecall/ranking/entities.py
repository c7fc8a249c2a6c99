"""Finds known entities in the text of a query."""

from __future__ import annotations

from collections.abc import Sequence

from pgrecall.core.steps import Run
from pgrecall.ranking.composing import reads
from pgrecall.schema import Tables
from pgrecall.scoring import expression


def known_entities(
    tables: Tables, owners: Sequence[str], texts: Sequence[str], *, subjects: bool = False
) -> Run:
    """The entities of the owners' memories that texts name, and with `subjects` their subjects.

    Columns: number, of the text from 1, entities, the longest first, and names: how many names
    stand for them. See the SQL function named_entities.
    """
    places = {"subjects_named": expression.boolean(subjects)}
    return reads(tables, "entities", places=places, owners=list(owners), texts=list(texts))


def known_as(tables: Tables, owners: Sequence[str], names: Sequence[str]) -> Run:
    """These names with the entities that they may stand for. Columns: entities and names."""
    return reads(tables, "known_as", owners=list(owners), query_entities=list(names))
