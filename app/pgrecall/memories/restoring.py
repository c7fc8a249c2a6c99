"""Stores memories together with their state: counters, votes, status, links and history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from pgrecall.core.memory import NewMemory
from pgrecall.core.statement import Statement
from pgrecall.core.steps import Mode, Operation, Run, needs
from pgrecall.core.validation import in_list
from pgrecall.errors import InvalidMemory
from pgrecall.memories.added import Added
from pgrecall.memories.analysing import analysed_after
from pgrecall.memories.embed import Incoming, Policy, Position, prepared
from pgrecall.memories.incoming import FIELDS, STORED_DEFAULTS
from pgrecall.memories.memory_statements import (
    DROP_STAGING,
    all_staged,
    copy_staged,
    create_staging,
)
from pgrecall.memories.record import OWNER_FIELDS, STATE, Record, parse_record
from pgrecall.schema import Tables
from pgrecall.schema.fields import NEW, STATE_COLUMNS, TABLE
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import columns_of

_PART = 1_000
"""Rows per call of `restore_rows`."""
_IN_MEMORIES = tuple(field.name for field in (*NEW, *STATE_COLUMNS))
"""The fields that are columns of agent_memories."""
_ELSEWHERE = tuple(name for name in STATE if name not in _IN_MEMORIES)
"""The fields of the state that other tables hold."""
_STAGED = (*_IN_MEMORIES, "state")


@needs(Mode(unlimited=True))
def restore(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memories: Iterable[Mapping[str, Any]],
    *,
    check_compliance: bool = True,
    actor: str | None = None,
) -> Operation[list[Added]]:
    """Stores a batch of memories with their state, in one transaction. Returns the ids in order.

    A memory is a mapping, such as a line of an export read as JSON: the fields of NewMemory, and
    those of its state, counters, `links` and `events` that an export has. Times may be ISO 8601
    text. An `id` that is not a UUID becomes the `key`; `superseded_by` and the `target_id` of links
    may name such ids too. `agent_id` and `team_id` in the mapping are not read.

    Memories are known by their id; one that is there is left as it is. A memory with an `edition`
    is left out (outcome "duplicate") if an active memory has its text and edition. What NewMemory
    computes, and `usefulness`, is computed only where it is missing. A memory without `events`
    begins a history.

    Raises InvalidMemory, NotCompliant, InvalidVector, UnknownName or EmbedderRequired, which name
    the position of the memory, counted from 0. Then nothing is stored.
    """
    policy = Policy.of("keep", None, check_compliance, actor)
    agent_id = require_owner(tables, agent_id)
    several = None if isinstance(memories, Mapping) else in_list(memories)
    if several is None:
        raise InvalidMemory(f"memories must be a list of memories, got {type(memories).__name__}")
    records: list[Record] = []
    for position, one in enumerate(several):
        with Position(position, len(several), named=True):
            if not isinstance(one, Mapping):
                raise InvalidMemory(f"a memory must be a mapping, got {type(one).__name__}")
            if isinstance(one, Record) and one.owner_id == agent_id:
                records.append(one)
                continue
            values_of_memory = {name: one[name] for name in one if name not in OWNER_FIELDS}
            records.append(parse_record(values_of_memory, agent_id))
    fields = [{name: one[name] for name in one if name in FIELDS} for one in records]
    batch = yield from prepared(
        tables, agent_id, [NewMemory(**one) for one in fields], policy, named=True
    )
    for one, incoming in zip(fields, batch, strict=True):
        if "tokens" in one:  # None: they were never counted
            incoming["tokens"] = one["tokens"]
    rows: dict[UUID, tuple[Incoming, Record]] = {}
    for incoming, record in zip(batch, records, strict=True):
        rows.setdefault(incoming["id"], (incoming, record))
    outcomes = (yield from _restored(tables, agent_id, rows, policy)) if rows else {}
    results = []
    for incoming in batch:
        memory_id = incoming["id"]
        results.append(Added(memory_id, outcomes[memory_id]))
        if outcomes[memory_id] == "inserted":
            outcomes[memory_id] = "known"  # if it is in the batch once more
    return results


def _row(incoming: Incoming, record: Record) -> Iterator[Any]:
    """The values of the staging table's columns, except the ordinal."""
    values = STORED_DEFAULTS | incoming
    if "usefulness" not in record:
        values["usefulness"] = None  # that of the votes
    values |= {field.name: record.get(field.name) for field in STATE_COLUMNS}
    yield from map(values.get, _IN_MEMORIES)
    yield _as_json({name: record[name] for name in _ELSEWHERE if name in record})


def _restored(
    tables: Tables, agent_id: str, rows: Mapping[UUID, tuple[Incoming, Record]], policy: Policy
) -> Operation[dict[UUID, Any]]:
    """Stores the rows, whose ids differ. The outcome of each id."""
    yield Run(create_staging(tables, _STAGED))
    copied = ((ordinal, *_row(*row)) for ordinal, row in enumerate(rows.values()))
    yield copy_staged(_STAGED, copied)
    outcomes = {}
    for first in range(0, len(rows), _PART):
        parameters = {"agent": agent_id, "first": first, "last": first + _PART - 1}
        parameters |= {"check_compliance": policy.check_compliance, "actor": policy.actor}
        for row in (yield Run(_restore_staged(tables), parameters)):
            outcomes[row.memory_id] = row.outcome
    yield DROP_STAGING
    yield from analysed_after(tables, len(rows))
    return outcomes


@lru_cache
def _restore_staged(tables: Tables) -> Statement:
    """Stores the staged rows with ordinals `first` to `last`. Rows: ordinal, memory_id, outcome."""
    schema, read = f'"{tables.schema}"', columns_of("restore_rows")
    row = ", ".join(f's."{one.name}"' if one.name in _IN_MEMORIES else "NULL" for one in TABLE)
    memories = all_staged(f"ROW({row})::{schema}.agent_memories")
    return Statement(
        f"/* pgrecall restore_rows */ SELECT {read} FROM {schema}.restore_rows(:agent, "  # noqa: S608  ours
        f"{memories}, {all_staged('s.state')}, :check_compliance, :actor)"
    )


def _as_json(value: Any) -> Any:
    """The value with its times and ids as text."""
    if isinstance(value, Mapping):
        return {name: _as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
