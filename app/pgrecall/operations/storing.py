"""Storing prepared memories, and meeting those that say what is there already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgrecall import statements
from pgrecall.added import Added, Outcome
from pgrecall.errors import DatabaseConflict, InputError
from pgrecall.operations.noting import noted
from pgrecall.operations.preparing import Incoming, Policy
from pgrecall.schema import Tables
from pgrecall.statements import GIVEN, UNSET_FIELDS, Staged, memory_fields
from pgrecall.steps import Execute, Operation

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Rows:
    """Memories by their ordinal, in the staging table or (one, with ordinal 0) as parameters."""

    memories: Mapping[int, Incoming]
    staged: Staged | None
    """The fields in the staging table."""
    parameters: Mapping[str, Any]

    @classmethod
    def given(cls, memory: Incoming) -> Rows:
        values = memory.values | {"embedding": memory.vector}
        bound = {GIVEN + name: values[name] for name in memory_fields()}
        return cls({0: memory}, None, bound | {UNSET_FIELDS: memory.unset})


@dataclass(frozen=True, slots=True)
class _Said:
    """An incoming memory that says what a stored one says already."""

    ordinal: int
    id: UUID
    memory_id: UUID
    outcome: Outcome
    similarity: float


def one_by_one(
    tables: Tables, agent_id: str, batch: Sequence[Incoming], policy: Policy
) -> Operation[list[Added]]:
    added: list[Added] = []
    if policy.near_duplicates is not None:
        [row] = yield Execute(statements.wait_for_rivals(tables), {"owner_id": agent_id})
        if row.isolation == "repeatable read":
            raise InputError(
                "near_duplicates cannot see what rivals store in a transaction of isolation level "
                "REPEATABLE READ; use READ COMMITTED or SERIALIZABLE"
            )
    for memory in batch:
        rows = Rows.given(memory)
        result: dict[int, Added] | None = None
        if policy.near_duplicates is not None and memory.vector is not None:
            result = yield from _near(tables, agent_id, rows, policy)
        if result is None:
            result = yield from stored(tables, agent_id, rows, policy)
        added.append(result[0])
    return added


def stored(
    tables: Tables, agent_id: str, rows: Rows, policy: Policy
) -> Operation[dict[int, Added]]:
    """Inserts what is new; what is there is looked up and met as the policy says.

    Looked up until all is known, and only then met: a counter that is raised is locked, and
    whoever waits for it may be whom the next insert would wait for.
    """
    results: dict[int, Added] = {}
    again: dict[int, _Said] = {}
    bound = {"owner_id": agent_id, **noted(reason=None, actor=policy.actor), **rows.parameters}
    for _ in range(_ATTEMPTS):
        inserted = yield Execute(statements.insert_incoming(tables, rows.staged), bound)
        ids = {row.id for row in inserted}
        for ordinal, memory in rows.memories.items():
            if memory.id in ids:
                results[ordinal] = Added(memory.id, "inserted")
        waiting = _not_in(rows.memories, results, again)
        if waiting:
            asked = [memory.id for memory in waiting.values()]
            known = yield Execute(statements.existing(tables, agent_id, asked))
            known_ids = {row.id for row in known}
            for ordinal, memory in waiting.items():
                if memory.id in known_ids:
                    results[ordinal] = Added(memory.id, "known")
        waiting = _not_in(rows.memories, results, again)
        if waiting:
            said = yield from _exact(tables, agent_id, rows, list(waiting))
            again |= {one.ordinal: one for one in said}
        if not _not_in(rows.memories, results, again):
            met = yield from _restated(tables, agent_id, rows, list(again.values()), policy)
            return results | met
    raise DatabaseConflict(
        "memories that say the same come and go while these are added; the same call may succeed"
    )


def _not_in(memories: Mapping[int, Incoming], *known: Mapping[int, object]) -> dict[int, Incoming]:
    return {
        ordinal: memory
        for ordinal, memory in memories.items()
        if not any(ordinal in one for one in known)
    }


def _exact(
    tables: Tables, agent_id: str, rows: Rows, ordinals: list[int]
) -> Operation[list[_Said]]:
    """Those of the incoming memories that an active one says already, word by word."""
    found = yield Execute(
        statements.duplicates(tables, rows.staged),
        {"owner_id": agent_id, "ordinals": ordinals, **rows.parameters},
    )
    said = []
    revived: set[UUID] = set()
    for row in found:
        revives = not row.valid and row.holds and row.memory_id not in revived
        if revives:
            revived.add(row.memory_id)  # for those after it in the batch it is there
        outcome: Outcome = "revived" if revives else "duplicate"
        said.append(_Said(row.ordinal, rows.memories[row.ordinal].id, row.memory_id, outcome, 1.0))
    return said


def _near(
    tables: Tables, agent_id: str, rows: Rows, policy: Policy
) -> Operation[dict[int, Added] | None]:
    """Meets the memory most similar to the one that comes in; None when it is to be stored."""
    memory = rows.memories[0]
    known = yield Execute(statements.existing(tables, agent_id, [memory.id]))
    exact = yield from _exact(tables, agent_id, rows, [0])
    if known or exact:
        return None
    found = yield Execute(
        statements.nearest(tables),
        {
            "owner_id": agent_id,
            "query": memory.vector,
            "threshold": policy.near_duplicates,
            "incoming_id": memory.id,
        },
    )
    if not found:
        return None
    [row] = found
    said = _Said(0, memory.id, row.memory_id, "near_duplicate", row.similarity)
    results = yield from _restated(tables, agent_id, rows, [said], policy)
    return results


def _restated(
    tables: Tables, agent_id: str, rows: Rows, again: Sequence[_Said], policy: Policy
) -> Operation[dict[int, Added]]:
    """Notes that memories were said again, and does what the policy says, once per incoming id."""
    if not again:
        return {}
    bound = {"owner_id": agent_id, **noted(reason=None, actor=policy.actor)}
    newly = yield Execute(
        statements.restate(tables),
        bound
        | {
            "memory_ids": [said.memory_id for said in again],
            "event_ids": [said.id for said in again],
            "similarities": [said.similarity for said in again],
        },
    )
    first_time = {row.id for row in newly}
    fresh = [said for said in again if said.id in first_time]
    targets = {said.memory_id: said.ordinal for said in fresh}  # of several the last counts
    if policy.duplicates == "bump" and fresh:
        counts = Counter(said.memory_id for said in fresh)
        yield Execute(
            statements.count_retrievals(tables),
            {"owner_id": agent_id, "ids": list(counts), "counts": list(counts.values())},
        )
    gone = {said.memory_id: said.ordinal for said in fresh if said.outcome == "revived"}
    if policy.duplicates == "replace":
        change, chosen = statements.replace(tables, rows.staged), targets
    else:
        change, chosen = statements.revive_duplicates(tables, rows.staged), gone
    if chosen:
        yield Execute(
            change,
            bound
            | {"ids": list(chosen), "ordinals": list(chosen.values())}
            | dict(rows.parameters),
        )
    return {
        said.ordinal: Added(said.memory_id, "known")
        if said.outcome == "revived" and said.id not in first_time  # a repeated write revives not
        else Added(said.memory_id, said.outcome, said.similarity)
        for said in again
    }
