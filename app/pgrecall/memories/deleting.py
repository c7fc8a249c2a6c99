"""Deletes memories: by their ids, or all that pass a filter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack
from uuid import UUID

from pgrecall.core.steps import READS, TRANSACTION, VERB, Mode, Operation, needs
from pgrecall.core.validation import require_bool, require_ids
from pgrecall.errors import InputError
from pgrecall.memories.event_fields import check_audit_fields
from pgrecall.memories.reading import stored_ids
from pgrecall.ranking import passing
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.passing import reads
from pgrecall.ranking.question import checked_filters
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call


def _needs(
    _: Tables,
    agent_id: str,
    memory_ids: object = None,
    *,
    dry_run: bool = False,
    **others: object,
) -> Mode:
    """The mode: a deletion by filters takes two statements."""
    if dry_run:
        return READS
    return TRANSACTION if memory_ids is None else VERB


@needs(_needs)
def delete(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str] | None = None,
    *,
    dry_run: bool = False,
    reason: str | None = None,
    actor: str | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[int]:
    """Deletes memories with their counters and links. Returns how many were deleted.

    Name them by their ids, or by filters, but not by both. Ids that the agent does not have are
    ignored. As in a search, only active and valid memories pass a filter unless `include_inactive`
    says otherwise; `list` shows which these are. With `dry_run`, nothing is deleted, and the result
    is how many would be. The history of the memories remains.

    Raises InputError if neither ids nor a filter are given: `erase_owner` deletes all.
    """
    agent_id = require_owner(tables, agent_id)
    check_audit_fields(reason=reason, actor=actor)
    require_bool("dry_run", dry_run)
    chosen = Filters.of(filters)
    if memory_ids is None:
        _require_some(chosen)
        chosen = yield from checked_filters(tables, filters)
        build = passing.count if dry_run else passing.locked
        rows = yield reads(tables, build, chosen, owner_id=agent_id)
        if dry_run:
            return int(rows[0][0])
        ids = [row.id for row in rows]
    elif chosen.are_default and not chosen.include_inactive:
        ids = require_ids(memory_ids)
        if dry_run:
            return len((yield from stored_ids(tables, agent_id, ids)))
    else:
        raise InputError("name the memories to delete by ids or by filters, not by both")
    if not ids:
        return 0
    rows = yield call(tables, "forget", agent=agent_id, memory_ids=ids, reason=reason, actor=actor)
    return len(rows)


def _require_some(filters: Filters) -> None:
    """Raises InputError for a filter that every memory passes."""
    if filters.are_default:
        raise InputError(
            "delete needs ids or a filter that leaves something out; all that an agent has is "
            "deleted by `erase_owner`, or `pgrecall erase --agent … --everything`"
        )
