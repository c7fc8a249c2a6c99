"""Counts memories by a value in their metadata."""

from __future__ import annotations

from typing import Any, Unpack
from uuid import UUID

from sqlalchemy import Select, desc, func, literal_column
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.core.validation import require_text
from pgrecall.ranking.conditions import texts
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.metadata_filter import path_of
from pgrecall.ranking.question import narrowing
from pgrecall.ranking.statement import passing_filters
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner


@needs(READS)
def metadata_values(
    tables: Tables, /, agent_id: str | UUID, key: str, **filters: Unpack[FilterArguments]
) -> Operation[list[tuple[Any, int]]]:
    """The values that a key of the metadata has, with the number of memories, most first.

    As in the filter `metadata`, dots in `key` separate the keys of nested objects. Memories without
    the key do not count. As in a search, only active and valid memories pass unless `statuses` or
    `include_invalid` say otherwise. Raises InputError and its children.
    """
    agent_id = require_owner(tables, agent_id)
    path = path_of(require_text("key", key))
    chosen = Filters.of(filters)
    chosen = yield from narrowing(tables, chosen)
    bound = {"owner_id": agent_id, _PATH: path, **chosen.parameters}
    rows = yield Run(_values(tables, chosen), bound)
    return [(row.value, row.memories) for row in rows]


_PATH = "metadata_path"


def _values(tables: Tables, filters: Filters) -> Select[Any]:
    value: Any = tables.memories.c.metadata.op("#>", return_type=JSONB())(texts(_PATH))
    memories = func.count().label("memories")
    return (
        passing_filters(tables, filters.shape, filters.where, as_of=False)
        .where(value.is_not(None))
        .with_only_columns(value.label("value"), memories)
        .group_by(literal_column("1"))  # the first column
        .order_by(desc(memories), literal_column("1"))
    )
