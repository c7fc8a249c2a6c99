"""What is known of owners before their memories are ranked: rank indexes, and whether they are
large."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Select, literal_column, select

from pgrecall.core.steps import Lookup
from pgrecall.ranking.conditions import OWNERS, of_owners
from pgrecall.schema import Tables

LARGE: Final = 20_000
"""Owners with more memories than this have their searches planned anew each time, since parallel
plans save more than planning costs."""
_INTERNAL = ("likeness", "term_memories", "common_terms")
"""What a rank index knows of similarity and words; used inside the database only."""


def known_owners(tables: Tables, owners: Sequence[str], *, anew: bool = False) -> Lookup:
    """A row for each rank index of these owners, or one whose `agent_id` is None; each with
    `is_large`.

    A rank index that has been replaced since has no candidates, and then every memory is scored;
    the time it was built at stays true.
    """
    return Lookup(_statement(tables), {"owners": list(owners)}, anew)


@lru_cache
def _statement(tables: Tables) -> Select[Any]:
    memories, indexes = tables.memories, tables.rank_indexes
    shown = [column for column in indexes.c if column.name not in _INTERNAL]
    one_more = (
        select(literal_column("1"))
        .where(of_owners(memories, OWNERS))
        .offset(literal_column(str(LARGE)))
        .exists()
    )
    facts = select(one_more.label("is_large")).subquery("facts")
    return select(facts.c.is_large, *shown).select_from(
        facts.outerjoin(indexes, of_owners(indexes, OWNERS))
    )
