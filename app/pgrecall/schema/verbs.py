"""Calls of the functions in `sql/verbs` and `sql/rank_index`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.schema import Tables
from pgrecall.schema.fields import ROW

_COUNTED = "memories, counters, links, events"
MEMORY: Final = ", ".join("NULL AS embedding" if name == "embedding" else name for name in ROW)
"""The fields of `Memory` in their order, of the view memory_records; the embedding is NULL."""
COLUMNS: Final[Mapping[str, str]] = {
    "_maintenance_due": "task, name, why, seconds, counts",
    "_retain_batch": "scanned, archived, deleted, completed, orphans, events, last_id, more",
    "changes": "agent_id, content, memory_id, id, event_type, reason, actor, old_values, "
    "new_values, metadata, occurred_at",
    "consolidate_memories": "memory_id, source_ids, importance",
    "count_owner": f"{_COUNTED}, positions, runs",
    "erase": f"{_COUNTED}, positions, mentions, derived",
    "erase_owner_batch": f"{_COUNTED}, positions, runs, more",
    "health": "problem, name, why, remedy",
    "judged_queries": "query, memory_ids, irrelevant",
    "names": "alias, entity",
    "large_owners": "agent_id",
    "last_maintenance": "started_at, seconds, tasks, finished",
    "links": "source_id, target_id, kind, weight",
    "owners": "agent_id, memories",
    "owners_of_memories": "agent_id, has_memories",
    "rank_index_states": "agent_id, due, shrunk, relation, space, as_of, built_at, "
    "written_until, memories, used_at_least, m, ef_construction, seconds, candidates, "
    "candidates_alone, candidates_by_profile, written, changed, used, bytes, has_words",
    "remember": "memory_id, outcome, similarity, same_subject",
    "remember_rows": "ordinal, memory_id, outcome, similarity, same_subject",
    "restore_rows": "ordinal, memory_id, outcome",
    "supersede": "successor, outcome, similarity",
    "table_states": "name, live, dead, changed, bytes",
    "upsert": "memory_id, outcome",
}
"""The columns to read of functions that return several. Never `*`: a column that a later release
adds would change the type of results that sessions have prepared (ADR-0030)."""


def call(tables: Tables, function: str, returning: str | None = None, /, **arguments: Any) -> Run:
    """Calls a function with arguments of these names.

    `returning` are the columns to select, by default those of COLUMNS, or the function's only one.
    """
    typed = in_json(arguments)
    return Run(_call(tables.schema, function, tuple(arguments), typed, returning), arguments)


def in_json(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments that are sent as JSON: objects, and lists of them."""
    names = []
    for name, value in arguments.items():
        first = value[0] if type(value) is list and value else value
        if isinstance(first, dict):
            names.append(name)
    return tuple(names)


@lru_cache(maxsize=512)
def _call(
    schema: str,
    function: str,
    arguments: Sequence[str],
    typed: Sequence[str],
    returning: str | None,
) -> Statement:
    """A call in whose text arguments in JSON have their type. PostgreSQL knows that of others."""
    named = ", ".join(
        f'"{name}" => :{name}{"::jsonb" if name in typed else ""}' for name in arguments
    )
    columns = returning or columns_of(function)
    called = f'"{schema}".{function}({named})'
    return Statement(f"/* pgrecall {function} */ SELECT {columns} FROM {called}")  # noqa: S608  ours


def columns_of(function: str) -> str:
    """The columns to select from a function."""
    return COLUMNS.get(function, function)


def lift_limits(tables: Tables) -> Run:
    """Turns off the limits of time for this transaction; returns what they were as `limits`, its
    isolation level, and when it began."""
    isolation = "pg_catalog.current_setting('transaction_isolation') AS isolation"
    began = "pg_catalog.now() AS began_at"
    return call(tables, "lift_limits", f"lift_limits AS limits, {isolation}, {began}")
