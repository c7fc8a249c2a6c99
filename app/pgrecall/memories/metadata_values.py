"""The values in the metadata of memories: which namespaces a store of LangGraph has."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.ranking.filters import Filters
from pgrecall.ranking.statement import passing_filters
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner


@needs(READS)
def metadata_values(
    tables: Tables, /, agent_id: str | UUID, key: str, *, content_types: list[str]
) -> Operation[list[Any]]:
    """The values that a key of the metadata has in memories that are active and valid."""
    owner_id = require_owner(tables, agent_id)
    chosen = Filters.of({"content_types": content_types})
    value: Any = tables.memories.c.metadata[key]
    passing = passing_filters(tables, chosen.shape, chosen.where, as_of=False)
    values = passing.where(value.is_not(None)).with_only_columns(value.label("value")).distinct()
    rows = yield Run(values, {"owner_id": owner_id, **chosen.parameters})
    return [row.value for row in rows]
