"""Adding memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal
from uuid import UUID

from psycopg.types.json import Jsonb
from sqlalchemy.schema import DropTable

from pgrecall import statements
from pgrecall.embedding import StoredVector, VectorLike
from pgrecall.errors import InputError, InvalidMemory
from pgrecall.ids import new_id
from pgrecall.incoming import checked
from pgrecall.memory import UNSET, NewMemory, Unset
from pgrecall.schema import Layout, Tables
from pgrecall.steps import Copy, Embed, Embedded, Execute, Inspect, Operation
from pgrecall.validation import require_name


def add(tables: Tables, /, agent_id: str, memory: NewMemory | str) -> Operation[UUID]:
    """Stores one memory and returns its id.

    Text alone is a memory with all defaults, embedded by the repository's embedder. Adding an id
    that is there already changes nothing and returns it, so that a retried add is safe.

    Raises InvalidMemory, InvalidVector or EmbedderRequired; nothing is stored then.
    """
    require_name("agent_id", agent_id)
    [incoming] = yield from _prepared([memory], named=False)
    values = incoming.values | {"embedding": incoming.vector}
    if values["created_at"] is UNSET:
        del values["created_at"]  # the column's default is the database's now()
    yield Execute(statements.add(tables, agent_id, values))
    return incoming.id


def add_many(
    tables: Tables, /, agent_id: str, memories: Iterable[NewMemory | str]
) -> Operation[list[UUID]]:
    """Stores a batch through COPY and returns the ids in input order.

    All or nothing: when one memory is bad, none is stored and the error names its position,
    counted from 0. Ids that are there already are left as they are.

    Raises InvalidMemory, InvalidVector or EmbedderRequired.
    """
    require_name("agent_id", agent_id)
    if isinstance(memories, str | bytes | Mapping) or not isinstance(memories, Iterable):
        raise InvalidMemory(f"a batch is a list of memories, got {type(memories).__name__}")
    batch = yield from _prepared(list(memories), named=True)
    if batch:
        layout: Layout = yield Inspect()
        rows = statements.staging(tables)
        yield Execute(statements.create_staging(tables))
        yield Copy(rows, [_row(i, memory) for i, memory in enumerate(batch)], layout.embedding_oid)
        yield Execute(statements.insert_staged(tables, agent_id))
        yield Execute(DropTable(rows))
    return [memory.id for memory in batch]


@dataclass(frozen=True, slots=True)
class _Incoming:
    """A memory whose every field has been checked."""

    id: UUID
    values: dict[str, Any]
    vector: StoredVector | None


def _as_new(memory: NewMemory | str) -> NewMemory:
    if isinstance(memory, str):
        return NewMemory(memory)
    if not isinstance(memory, NewMemory):
        raise InvalidMemory(f"a memory is a NewMemory or text, got {type(memory).__name__}")
    return memory


def _prepared(memories: Sequence[NewMemory | str], *, named: bool) -> Operation[list[_Incoming]]:
    """Checks all fields, embeds what has no vector yet, then checks all vectors."""
    stored: list[dict[str, Any]] = []
    for position, memory in enumerate(memories):
        with _Position(position, len(memories), named):
            stored.append(_checked(_as_new(memory)))
    vectors: list[VectorLike | Literal[Unset.UNSET] | None] = [
        values.pop("embedding") for values in stored
    ]
    to_embed = [i for i, vector in enumerate(vectors) if vector is UNSET]
    if to_embed:
        embedded: Embedded = yield Embed(tuple(stored[i]["content"] for i in to_embed))
        for i, made in zip(to_embed, embedded.vectors, strict=True):
            vectors[i] = made
            stored[i]["embedding_model"] = stored[i]["embedding_model"] or embedded.model
    layout: Layout = yield Inspect()
    prepared = []
    for position, (values, vector) in enumerate(zip(stored, vectors, strict=True)):
        with _Position(position, len(memories), named):
            assert vector is not UNSET
            checked_vector = None if vector is None else layout.vector(vector)
            prepared.append(_Incoming(values["id"], values, checked_vector))
    return prepared


def _checked(memory: NewMemory) -> dict[str, Any]:
    given = {field.name: getattr(memory, field.name) for field in fields(memory)}
    unset = {name for name in ("created_at", "embedding") if given[name] is UNSET}
    values = checked({name: value for name, value in given.items() if name not in unset})
    values |= dict.fromkeys(unset, UNSET)
    values["id"] = values["id"] or new_id()
    return values


def _row(ordinal: int, memory: _Incoming) -> tuple[Any, ...]:
    values = memory.values | {
        "embedding": memory.vector,
        "metadata": Jsonb(memory.values["metadata"]),
    }
    created_now = values["created_at"] is UNSET
    if created_now:
        values["created_at"] = None
    return (ordinal, created_now, *(values[name] for name in statements.staged_fields()))


class _Position:
    """Puts the position within the batch in front of an InputError."""

    def __init__(self, position: int, total: int, named: bool) -> None:
        self._prefix = f"memory {position} of {total}: " if named else ""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._prefix and isinstance(error, InputError):
            raise type(error)(f"{self._prefix}{error}") from None
