"""Updates, deletes and touches memories."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core.embedders import Embedded
from pgrecall.core.memory import UNSET, Memory, MemoryChanges, leading_memory
from pgrecall.core.steps import ALONE, VERB, Ask, Operation, needs
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_id,
    require_ids,
    require_name,
)
from pgrecall.core.vectors import HalfVector, Vector, VectorLike, as_text
from pgrecall.errors import InputError, InvalidMemory, NotCompliant
from pgrecall.memories.event_fields import check_audit_fields
from pgrecall.memories.incoming import checked
from pgrecall.schema import Layout, Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import MEMORY, call


@needs(VERB)
def update(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    *,
    reason: str | None = None,
    actor: str | None = None,
    check_compliance: bool = True,
    **changes: Unpack[MemoryChanges],
) -> Operation[Memory]:
    """Changes fields of a memory and returns it as it is afterwards.

    MemoryChanges lists the fields: those of NewMemory except `id` and `key`. New content is
    embedded again; without an embedder, pass `embedding` too. Another `tier` brings its expiry,
    unless `expires_at` is given. Trust is not computed again. The history records old and new
    values (except vectors), `reason` and `actor`. `compliant=False` is refused unless
    `check_compliance=False`.

    Raises MemoryNotFound, InvalidMemory, InvalidVector, UnknownName or EmbedderRequired, or
    DuplicateMemory if another active memory of the agent has this content. Then nothing is changed.
    """
    agent_id = require_owner(tables, agent_id)
    memory_id = require_id(memory_id)
    check_audit_fields(reason=reason, actor=actor)
    for name in ("id", "key"):
        if name in changes:
            raise InvalidMemory(f"the {name} of a memory cannot be changed: add a new memory")
    values = checked({name: value for name, value in changes.items() if value is not UNSET})
    if require_bool("check_compliance", check_compliance) and values.get("compliant") is False:
        raise NotCompliant()
    if not values:
        raise InvalidMemory("update needs at least one field to change")
    if "embedding" in values:
        values.setdefault("embedding_model", None)  # unknown for a vector from the caller
    if "content" in values and "embedding" not in values:
        embedded: Embedded = yield Ask("embed", (values["content"],))
        values["embedding"] = embedded.vectors[0]
        values.setdefault("embedding_model", embedded.model)
    if "content" in values and values.get("tokens") is None:
        [values["tokens"]] = yield Ask("count_tokens", (values["content"],))
    vector: VectorLike | None = values.get("embedding")
    if vector is not None:
        layout: Layout = yield Ask("layout")
        values["embedding"] = layout.vector(vector)
    [row] = yield call(
        tables,
        "update_memory",
        MEMORY,
        agent=agent_id,
        memory_id=memory_id,
        changes={name: _as_json(value) for name, value in values.items()},
        check_compliance=check_compliance,
        reason=reason,
        actor=actor,
    )
    return leading_memory(row)


def _as_json(value: Any) -> Any:
    """A field as a JSON value that PostgreSQL can convert to the column's type."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Vector | HalfVector):
        return as_text(value.to_list())
    return value


@needs(ALONE)
def touch(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    key: str | None = None,
) -> Operation[int]:
    """Counts one retrieval of each memory and sets its last access to now. Returns how many exist.

    Only `memory_usage` is written. Rows are locked in key order. `key` is your own name for this
    touch: repeated with it, it counts once. It leaves an event, `retrieved`, for each memory.
    """
    agent_id = require_owner(tables, agent_id)
    ids = require_ids(memory_ids)
    if not ids:
        return 0
    if key is None:
        rows = yield call(
            tables, "touch", agent=agent_id, memory_ids=ids, accessed=True, durable=True
        )
    else:
        key = require_name("key", key)
        rows = yield call(tables, "touch_once", agent=agent_id, memory_ids=ids, key=key)
    return int(rows[0][0])


@needs(ALONE)
def extend_expiry(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    expires_at: datetime,
) -> Operation[int]:
    """Moves the expiry of memories to a later time. Returns how many there were.

    Memories that never expire, have expired or expire later stay as they are. As with `touch`,
    there is no event, and `updated_at` stays. Raises InputError.
    """
    agent_id = require_owner(tables, agent_id)
    ids = require_ids(memory_ids)
    if expires_at is None:
        raise InputError("expires_at must be a datetime, got None")
    require_aware("expires_at", expires_at)
    if not ids:
        return 0
    rows = yield call(
        tables, "_extend_expiry", agent=agent_id, memory_ids=ids, expires_at=expires_at
    )
    return int(rows[0][0])
