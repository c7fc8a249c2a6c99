"""The values in the metadata of memories: which namespaces a store of LangGraph has."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pgrecall.core.steps import READS, Operation, needs
from pgrecall.ranking.composing import reads
from pgrecall.ranking.filters import Filters
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner


@needs(READS)
def metadata_values(
    tables: Tables, /, agent_id: str | UUID, key: str, *, content_types: list[str]
) -> Operation[list[Any]]:
    """The values that a key of the metadata has in memories that are active and valid."""
    owner_id = require_owner(tables, agent_id)
    chosen = Filters.of({"content_types": content_types})
    places = {"keys": "agent_memories.metadata"}
    rows = yield reads(tables, "metadata_values", chosen, places=places, owner_id=owner_id, key=key)
    return [row.value for row in rows]
