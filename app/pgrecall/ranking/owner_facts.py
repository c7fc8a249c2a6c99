"""Facts of owners that a search needs first: rank indexes, whether they are large or have names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Keep, Operation, Run
from pgrecall.schema import Tables

LARGE_OWNER: Final = 20_000
"""For owners with more memories than this, each search is planned again: a parallel plan saves more
than planning costs."""
_INTERNAL = ("axes", "kept", "kept_since", "likeness", "term_memories", "common_terms")
"""Columns that only SQL functions read."""


def owner_facts(tables: Tables, owners: Sequence[str], *, anew: bool = False) -> Run:
    """A row for each rank index of these owners, or one whose `agent_id` is None if there is none.

    Each row also has `is_large`, of all these owners together, `has_names` and `has_subjects`, if
    there are names by which a question may call entities and subjects of memories, and `now`, the
    time of the server.
    Rows may be cached ones, unless they are to be read `anew`. An outdated row is harmless: an
    index that has been replaced returns no candidates, so every memory is scored, and the first
    names of an owner count some seconds later.
    """
    return Run(_statement(tables), {"owners": list(owners)}, keep=Keep(anew))


@dataclass(frozen=True, slots=True)
class Unindexed:
    """In place of a row: owners whose indexes give no candidates."""

    is_large: bool
    has_names: bool
    has_subjects: bool
    now: datetime
    agent_id: None = None


def without_indexes(tables: Tables, owners: Sequence[str]) -> Operation[None]:
    """Lets the next searches of these owners score every memory at once, until the rows are read
    again: an index that falls short would only be asked for nothing."""
    known = owner_facts(tables, owners)
    first = (yield known)[0]
    facts = (getattr(first, one.name) for one in fields(Unindexed) if one.name != "agent_id")
    yield known._replace(keep=Keep(rows=[Unindexed(*facts)]))


def expects_names(tables: Tables, owner_id: str, *, subjects: bool = False) -> Operation[None]:
    """Lets the next search of this owner look whether there are names, after one that found none:
    somebody is about to store some."""

    def lacks_names(rows: Sequence[Any]) -> bool:
        return not (rows[0].has_names and (rows[0].has_subjects or not subjects))

    yield owner_facts(tables, [owner_id])._replace(keep=Keep(outdated=lacks_names))


@lru_cache
def _statement(tables: Tables) -> Statement:
    shown = (column.name for column in tables.rank_indexes.c if column.name not in _INTERNAL)
    columns = ", ".join(f"i.{name}" for name in shown)
    return Statement(
        f"""/* pgrecall owner_facts */
SELECT known.is_large, known.has_names, known.has_subjects, statement_timestamp() AS now,
       {columns}, v.mean, v.latest AS mean_latest
  FROM "{tables.schema}".facts_of_owners(
       (:owners::text[])[1], (:owners::text[])[2:], {LARGE_OWNER}) known
  LEFT JOIN ("{tables.schema}".rank_indexes i
             LEFT JOIN "{tables.schema}".owner_vectors v
               ON v.agent_id = i.agent_id AND v.agent_id = ANY (:owners::text[]))
    ON i.agent_id = ANY (:owners::text[])"""  # noqa: S608  ours
    )
