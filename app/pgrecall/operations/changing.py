"""Changing, deleting and counting retrievals of memories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from pgrecall import statements
from pgrecall.embedding import VectorLike
from pgrecall.errors import DuplicateMemory, InvalidMemory, NotCompliant
from pgrecall.incoming import checked
from pgrecall.memory import UNSET, Memory
from pgrecall.operations.noting import noted
from pgrecall.operations.reading import existing_memory
from pgrecall.quoting import shortened
from pgrecall.schema import Layout, Tables
from pgrecall.steps import CountTokens, Embed, Embedded, Execute, Inspect, Operation
from pgrecall.validation import require_bool, require_ids, require_owner


def update(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    *,
    reason: str | None = None,
    actor: str | None = None,
    check_compliance: bool = True,
    **changes: Any,
) -> Operation[Memory]:
    """Changes fields of a memory and returns it as it is afterwards.

    Takes the fields of NewMemory but `id` and `key`. New content is embedded anew, so that text
    and vector never disagree; pass `embedding` with it where there is no embedder. The history
    keeps the old and the new values (of all but the vector), with `reason` and `actor`. Trust is
    not assessed anew: give `trust` with what it should follow from. `compliant=False` is refused
    unless `check_compliance=False`.

    Raises MemoryNotFound, InvalidMemory, InvalidVector, UnknownName, EmbedderRequired, or
    DuplicateMemory when another active memory of the agent has this content; nothing is changed
    then.
    """
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    note = noted(reason=reason, actor=actor)
    for name in ("id", "key"):
        if name in changes:
            raise InvalidMemory(f"the {name} of a memory cannot be changed")
    values = checked({name: value for name, value in changes.items() if value is not UNSET})
    if require_bool("check_compliance", check_compliance) and values.get("compliant") is False:
        raise NotCompliant()
    if not values:
        raise InvalidMemory("update needs at least one field to change")
    if "embedding" in values:
        values.setdefault("embedding_model", None)  # made by whom, only the caller knows
    if "content" in values and "embedding" not in values:
        embedded: Embedded = yield Embed((values["content"],))
        values["embedding"] = embedded.vectors[0]
        values.setdefault("embedding_model", embedded.model)
    if "content" in values and values.get("tokens") is None:
        [values["tokens"]] = yield CountTokens((values["content"],))
    vector: VectorLike | None = values.get("embedding")
    if vector is not None:
        layout: Layout = yield Inspect()
        values["embedding"] = layout.vector(vector)
    bound = {"owner_id": agent_id, **note}
    if "content" in values:
        taken = yield Execute(
            statements.text_taken(tables),
            {"owner_id": agent_id, "this_id": memory_id, "content": values["content"]},
        )
        if taken:
            raise DuplicateMemory(
                f"agent {shortened(agent_id)} has an active memory of this content already: "
                f"{taken[0].id}"
            )
    yield Execute(statements.update(tables, memory_id, values), bound)
    return (yield from existing_memory(tables, agent_id, memory_id))


def delete(
    tables: Tables,
    /,
    agent_id: str,
    memory_ids: UUID | Iterable[UUID],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Deletes memories with their counters, labels and links; returns how many there were.

    Ids the agent does not have are passed over. What happened to a memory stays in its history.
    """
    agent_id = require_owner(tables, agent_id)
    bound = {"owner_id": agent_id, **noted(reason=reason, actor=actor)}
    ids = require_ids(memory_ids)
    if not ids:
        return 0
    deleted = yield Execute(statements.delete(tables), bound | {"ids": ids})
    ids = [row.id for row in deleted]  # not those of a team of the same name, or of nobody
    for statement in (*statements.delete_traces(tables), statements.forget_positions(tables)):
        yield Execute(statement, {"owner_id": agent_id, "ids": ids})
    return len(ids)


def touch(tables: Tables, /, agent_id: str, memory_ids: UUID | Iterable[UUID]) -> Operation[int]:
    """Counts one retrieval of each memory, now, and returns how many of them exist.

    Only `memory_usage` is written; rows are locked in key order.
    """
    agent_id = require_owner(tables, agent_id)
    ids = require_ids(memory_ids)
    if not ids:
        return 0
    touched = yield Execute(statements.touch(tables), {"owner_id": agent_id, "ids": ids})
    return len(touched)
