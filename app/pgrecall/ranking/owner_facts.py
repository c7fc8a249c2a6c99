"""Facts of owners that a search needs first: their rank indexes, and whether they are large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import DateTime, Select, func, literal_column, select

from pgrecall.core.steps import Keep, Operation, Run
from pgrecall.ranking.conditions import OWNERS, of_owners
from pgrecall.schema import Tables

LARGE_OWNER: Final = 20_000
"""For owners with more memories than this, each search is planned again: a parallel plan saves more
than planning costs."""
_INTERNAL = ("likeness", "term_memories", "common_terms")
"""Columns that only SQL functions read."""


def owner_facts(tables: Tables, owners: Sequence[str], *, anew: bool = False) -> Run:
    """A row for each rank index of these owners, or one whose `agent_id` is None if there is none.

    Each row also has `is_large`, of all these owners together, and `now`, the time of the server.
    Rows may be cached ones, unless they are to be read `anew`. An outdated row is harmless: an
    index that has been replaced returns no candidates, so every memory is scored.
    """
    return Run(_statement(tables), {"owners": list(owners)}, keep=Keep(anew))


@dataclass(frozen=True, slots=True)
class Unindexed:
    """In place of a row: owners whose indexes give no candidates."""

    is_large: bool
    now: datetime
    agent_id: None = None


def without_indexes(tables: Tables, owners: Sequence[str]) -> Operation[None]:
    """Lets the next searches of these owners score every memory at once, until the rows are read
    again: an index that falls short would only be asked for nothing."""
    known = owner_facts(tables, owners)
    first = (yield known)[0]
    yield known._replace(keep=Keep(rows=[Unindexed(first.is_large, first.now)]))


@lru_cache
def _statement(tables: Tables) -> Select[Any]:
    memories, indexes = tables.memories, tables.rank_indexes
    shown = [column for column in indexes.c if column.name not in _INTERNAL]
    # True of every row: it leads to the index in the order of writing, whose rows lie together.
    ever = memories.c.inserted_at >= literal_column("'-infinity'::timestamptz")
    one_more = (
        select(literal_column("1"))
        .where(of_owners(memories, OWNERS), ever)
        .offset(literal_column(str(LARGE_OWNER)))
        .exists()
    )
    now = func.statement_timestamp(type_=DateTime(timezone=True)).label("now")
    facts = select(one_more.label("is_large"), now).subquery("facts")
    return select(facts.c.is_large, facts.c.now, *shown).select_from(
        facts.outerjoin(indexes, of_owners(indexes, OWNERS))
    )
